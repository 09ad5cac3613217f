/** Owners that contend for one lock in the simulated cluster; see lock-book.ts for what must hold. */
import type { ClusterGroup } from '../../../src/raft/group/cluster/cluster-group.js';
import type { PreparedCommand } from '../../../src/raft/group/group.js';
import type { Prng } from '../core/prng.js';
import type { LockBook } from './lock-book.js';
import {
  acquireCommand,
  guardedCommand,
  LOCK_TTL_MS,
  releaseCommand,
  renewCommand,
  versionOf,
} from './lock-book.js';
import type { VirtualTime } from './virtual-time.js';

const MICROS_PER_MS = 1000;

export interface LockClientsParts {
  readonly time: VirtualTime;
  readonly prng: Prng;
  readonly book: LockBook;
  /** Null when no node is up or the cluster says no. */
  readonly attempt: (run: (group: ClusterGroup) => Promise<number>) => Promise<number | null>;
  readonly within: (ms: number) => { readonly deadlineMs: number };
}

export class LockClients {
  readonly counts = { locks: 0, renewals: 0, guarded: 0, fenced: 0 };
  private owners = 0;

  constructor(private readonly parts: LockClientsParts) {}

  /** One owner's turn: it takes the lock if it can, works under it, and gives it back or goes away. */
  async turn(): Promise<void> {
    const { prng, book, time } = this.parts;
    const owner = (this.owners += 1);
    const askedMs = time.nowMs;
    let token = await this.submit(acquireCommand(owner));
    if (token === null || token === 0) return;
    if (book.granted(owner, token, askedMs)) this.counts.locks += 1;
    for (let works = prng.below(4); works > 0; works -= 1) {
      await time.sleep(prng.below(LOCK_TTL_MS * MICROS_PER_MS));
      token = prng.chance(0.3) ? await this.renew(owner, token) : token;
      await this.write(token);
    }
    // Some go away without a word; the lifetime ends their lock.
    if (prng.chance(0.3)) return;
    book.released(owner);
    await this.submit(releaseCommand(token));
  }

  /** The token from here on. */
  private async renew(owner: number, token: number): Promise<number> {
    const { book, time } = this.parts;
    const askedMs = time.nowMs;
    const renewed = await this.submit(renewCommand(owner, token));
    if (renewed === null || renewed === 0) return token;
    if (book.granted(owner, renewed, askedMs)) this.counts.renewals += 1;
    return renewed;
  }

  private async write(token: number): Promise<void> {
    const version = await this.submit(guardedCommand(token));
    if (version === null) return;
    if (version === 0) {
      this.counts.fenced += 1;
      return;
    }
    this.counts.guarded += 1;
    this.parts.book.wrote(token, version);
  }

  private submit(command: PreparedCommand): Promise<number | null> {
    const { attempt, prng, within } = this.parts;
    return attempt(async (group) =>
      versionOf(await group.submit(command, within(300 + prng.below(2_500)))),
    );
  }
}
