/**
 * Keeps the switches of a group like those of group 0, which decide (state.md §0.4). Whoever turns a
 * switch turns it in every group; this mends a group that was not reached. A difference must stand for
 * a while, because a node may be behind in group 0. Proposes only; what is equal already is not touched.
 */
import { encodeSetSwitches, SWITCH_NAMES } from '../../machine/commands/index.js';
import type { SetSwitchesCommand, SwitchName } from '../../machine/commands/index.js';
import type { CoordinatorHost, CoordinatorPort, Group } from '../../raft/index.js';

const LOOK_MS = 1_000;
const STANDS_MS = 3_000;

export type MirroredGroup = Pick<CoordinatorHost, 'tables' | 'propose'>;
export type DecidingGroup = Pick<Group, 'tables' | 'status'>;

export interface SwitchMirrorOptions {
  monotonicMs(): number;
  log(event: string, fields: Readonly<Record<string, unknown>>): void;
}

export class SwitchMirror implements CoordinatorPort {
  private timer: NodeJS.Timeout | null = null;
  private readonly sinceMs = new Map<SwitchName, number>();

  constructor(
    private readonly host: MirroredGroup,
    private readonly first: DecidingGroup,
    private readonly options: SwitchMirrorOptions,
  ) {}

  start(): void {
    this.timer ??= setInterval(() => this.look(), LOOK_MS).unref();
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    this.sinceMs.clear();
  }

  private look(): void {
    const { leader, lagMs, role } = this.first.status();
    // Without a leader of group 0 this node may show an old state of it.
    if (leader === null || lagMs > 0 || role === 'stopped') return this.sinceMs.clear();
    const command = this.standing();
    if (Object.keys(command).length === 0) return;
    this.options.log('switches follow those of group 0', command);
    this.host.propose({ bytes: encodeSetSwitches(command) }).catch((error: unknown) => {
      // A lost leadership: whoever leads next looks again.
      this.options.log('switches were not mirrored', { error: String(error) });
    });
  }

  /** What has been different for long enough. */
  private standing(): SetSwitchesCommand {
    const now = this.options.monotonicMs();
    const wanted: Partial<Record<SwitchName, boolean>> = {};
    for (const name of SWITCH_NAMES) {
      const on = this.first.tables.controls.isOn(name);
      if (on === this.host.tables.controls.isOn(name)) {
        this.sinceMs.delete(name);
        continue;
      }
      const since = this.sinceMs.get(name) ?? now;
      this.sinceMs.set(name, since);
      if (now - since < STANDS_MS) continue;
      wanted[name] = on;
      this.sinceMs.set(name, now);
    }
    return wanted;
  }
}
