/**
 * Opens this boot's session through the log, asking again until its entry is applied here. The session
 * is what makes re-sent commands harmless, so nothing is submitted before it is open. Entries of this
 * boot are known by a number only this boot uses: a replayed entry of an older boot, whose sequences
 * were used before, is never taken for ours. A session that another entry ended is asked for anew.
 */
import type { NodeId } from '../../../common/ids.js';
import type { SessionOutcome } from '../../../machine/commands/catalogue.js';
import type { Tables } from '../../../machine/tables/tables.js';

/** Sweeps between two attempts. */
const ASK_EVERY_TICKS = 10;

export interface SessionOpenerPort {
  readonly nodeId: NodeId;
  readonly tables: Pick<Tables, 'sessions'>;
  /** Sequence number of this boot's session entries; no other boot uses it. */
  readonly nonce: number;
  submit(nonce: number): void;
  opened(session: number): void;
  /** Ended by an entry that is not ours; calls that are open had no effect. */
  ended(session: number): void;
}

export class SessionOpener {
  private ticks = 0;
  private session = 0;
  private waiters: ((open: boolean) => void)[] = [];

  constructor(private readonly port: SessionOpenerPort) {}

  /** Called a few times a second. */
  tick(): void {
    if (this.session !== 0) return;
    if (this.ticks % ASK_EVERY_TICKS === 0) this.port.submit(this.port.nonce);
    this.ticks += 1;
  }

  /** There is a leader to ask, or another one: no need to wait for the next turn. */
  again(): void {
    this.ticks = 0;
    this.tick();
  }

  /** A session entry was applied, of any node and any boot; `sequence` as its command carried it. */
  applied(sequence: number, outcome: SessionOutcome): void {
    const { nodeId, tables, nonce } = this.port;
    if (outcome.nodeId !== nodeId) return;
    // A repeat, or a late entry of an older boot: the machine let it have no effect.
    if (tables.sessions.ofNode(nodeId) !== outcome.session) return;
    if (sequence !== nonce) {
      this.lost();
      return;
    }
    this.session = outcome.session;
    this.port.opened(outcome.session);
    const waiters = this.waiters;
    this.waiters = [];
    for (const resolve of waiters) resolve(true);
  }

  /** True when the session is open within the time. */
  waitOpen(timeoutMs: number): Promise<boolean> {
    if (this.session !== 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      this.waiters.push((open) => {
        clearTimeout(timer);
        resolve(open);
      });
    });
  }

  /** The group ends: nobody waits for a session any more. */
  stop(): void {
    const waiters = this.waiters;
    this.waiters = [];
    for (const resolve of waiters) resolve(false);
  }

  private lost(): void {
    const ended = this.session;
    if (ended === 0) return;
    this.session = 0;
    this.ticks = 0;
    this.port.ended(ended);
  }
}
