/**
 * Opens this boot's session through the log, asking again until its entry is applied here. The session
 * is what makes re-sent commands harmless, so nothing is submitted before it is open.
 */
import type { NodeId } from '../../../common/ids.js';
import type { SessionOutcome } from '../../../machine/commands/catalogue.js';
import type { Tables } from '../../../machine/tables/tables.js';

/** Sweeps between two attempts. */
const ASK_EVERY_TICKS = 10;

export interface SessionOpenerPort {
  readonly nodeId: NodeId;
  readonly tables: Tables;
  submit(): void;
  opened(session: number): void;
}

export class SessionOpener {
  private ticks = 0;
  private isOpen = false;
  /** Session of this node before this boot asked: its entry may be replayed first. */
  private asked = false;
  private waiters: ((open: boolean) => void)[] = [];

  constructor(private readonly port: SessionOpenerPort) {}

  /** Called a few times a second. */
  tick(): void {
    if (this.isOpen) return;
    if (this.ticks % ASK_EVERY_TICKS === 0) {
      this.asked = true;
      this.port.submit();
    }
    this.ticks += 1;
  }

  /** A session entry was applied, of any node and any boot. */
  applied(outcome: SessionOutcome): void {
    if (this.isOpen || !this.asked || outcome.nodeId !== this.port.nodeId) return;
    // An older boot's entry that is replayed now is not the newest session of this node.
    if (this.port.tables.sessions.ofNode(outcome.nodeId) !== outcome.session) return;
    this.isOpen = true;
    this.port.opened(outcome.session);
    const waiters = this.waiters;
    this.waiters = [];
    for (const resolve of waiters) resolve(true);
  }

  /** True when the session is open within the time. */
  waitOpen(timeoutMs: number): Promise<boolean> {
    if (this.isOpen) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      this.waiters.push((open) => {
        clearTimeout(timer);
        resolve(open);
      });
    });
  }
}
