/**
 * A real single-voter group for tests: store and id index in a temporary directory, the log on a
 * simulated disk that can lose what was not synced (or on the real one). `crash` drops the process
 * state, `open` starts again on what is left.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Prng } from '../../src/common/prng.js';
import type { CallOptions } from '../../src/raft/group/group.js';
import type { LocalGroup } from '../../src/raft/group/local-group.js';
import type { GroupLog } from '../../src/raft/group/ports.js';
import { openLocalGroup, type LocalGroupOptions } from '../../src/raft/open-local-group.js';
import { FaultyFilePort } from './faulty-file-port.js';

export interface HarnessOptions extends Partial<Omit<LocalGroupOptions, 'directory' | 'files'>> {
  readonly seed?: number;
  /** The log lies on the real disk, in the temporary directory. */
  readonly realDisk?: boolean;
}

export interface LoggedLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export class GroupHarness {
  readonly disk: FaultyFilePort | null;
  readonly lines: LoggedLine[] = [];
  private opened: { group: LocalGroup; close(): Promise<void> } | null = null;

  private constructor(
    readonly directory: string,
    private readonly options: HarnessOptions,
  ) {
    const prng = new Prng(options.seed ?? 1);
    this.disk = options.realDisk === true ? null : new FaultyFilePort(() => prng.nextFloat());
  }

  static async create(options: HarnessOptions = {}): Promise<GroupHarness> {
    const directory = await mkdtemp(join(tmpdir(), 'queen-group-'));
    const harness = new GroupHarness(directory, options);
    for (const [parent, child] of ancestors(directory)) {
      await harness.disk?.mkdir(child);
      await harness.disk?.fsyncDir(parent);
    }
    await harness.open();
    return harness;
  }

  get group(): LocalGroup {
    if (this.opened === null) throw new Error('the group is not open');
    return this.opened.group;
  }

  /** Call options with a deadline far away. */
  soon(ms = 60_000): CallOptions {
    return { deadlineMs: performance.now() + ms };
  }

  async open(): Promise<LocalGroup> {
    const { seed: _seed, realDisk: _realDisk, ...rest } = this.options;
    this.opened = await openLocalGroup({
      ...{ nodeId: 1, checkpointMs: 50, log: this.log() },
      ...rest,
      directory: this.directory,
      ...(this.disk === null ? {} : { files: this.disk }),
    });
    return this.opened.group;
  }

  /** Graceful stop. */
  async close(): Promise<void> {
    const opened = this.opened;
    this.opened = null;
    await opened?.close();
  }

  /** The process dies; with `power` the machine does, and un-synced pages of the log may be lost. */
  async crash(power = true): Promise<void> {
    const opened = this.opened;
    this.opened = null;
    if (power) this.disk?.powerLoss();
    else this.disk?.kill();
    await opened?.group.abandon();
    await opened?.close();
  }

  async remove(): Promise<void> {
    await this.close();
    await rm(this.directory, { recursive: true });
  }

  private log(): GroupLog {
    const at =
      (level: LoggedLine['level']) =>
      (event: string, fields: Readonly<Record<string, unknown>> = {}): void => {
        this.lines.push({ level, event, fields });
      };
    return { info: at('info'), warn: at('warn'), error: at('error') };
  }
}

/** Every directory of the path with its parent, from the root down. */
function ancestors(path: string): [string, string][] {
  const pairs: [string, string][] = [];
  for (let child = path; child !== '/'; child = dirname(child))
    pairs.unshift([dirname(child), child]);
  return pairs;
}
