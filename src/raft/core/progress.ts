/**
 * What the leader knows about one member's log. Three states:
 *   probe      agreement unknown; one append at a time until answered
 *   replicate  appends stream ahead optimistically, bounded by the in-flight window
 *   snapshot   the needed entries are compacted; nothing is sent until the snapshot is answered
 * Invariant: next > match, always. Only the leader's handlers may move a progress.
 */
import { logIndex, type LogIndex } from '../../common/ids.js';
import { Inflights, type InflightLimits } from './inflights.js';
import { NO_INDEX } from './types.js';

export type ProgressState = 'probe' | 'replicate' | 'snapshot';

export class Progress {
  state: ProgressState = 'probe';
  /** Highest index known to be durable on the member. */
  match: LogIndex = NO_INDEX;
  /** Next index to send. */
  next: LogIndex;
  /** Commit index the member will know of once everything sent has arrived. */
  private sentCommit: LogIndex = NO_INDEX;
  pendingSnapshot: LogIndex = NO_INDEX;
  /** Heard from since the last quorum check. A new member counts as active at first. */
  recentActive = true;
  /** Flow stopped until the next answer; heartbeat answers lift it. */
  paused = false;
  isLearner = false;
  /** Leader's tick count at the last message from this member; undefined = not in this term. */
  lastContactTick: number | undefined;
  readonly inflights: Inflights;

  constructor(next: LogIndex, limits: InflightLimits) {
    this.next = next;
    this.inflights = new Inflights(limits);
  }

  /** Start of a term: everything learnt in an earlier term is void. */
  reset(lastIndex: LogIndex, isSelf: boolean): void {
    this.enter('probe');
    this.match = isSelf ? lastIndex : NO_INDEX;
    this.next = logIndex(lastIndex + 1);
    this.sentCommit = NO_INDEX;
    this.recentActive = false;
    this.lastContactTick = undefined;
  }

  becomeProbe(): void {
    // After a snapshot the member holds at least its index, even before the answer says so.
    const floor = this.state === 'snapshot' ? this.pendingSnapshot : NO_INDEX;
    this.enter('probe');
    this.next = logIndex(Math.max(this.match, floor) + 1);
    this.capSentCommit();
  }

  becomeReplicate(): void {
    this.enter('replicate');
    this.next = logIndex(this.match + 1);
  }

  becomeSnapshot(index: LogIndex): void {
    this.enter('snapshot');
    this.pendingSnapshot = index;
    this.next = logIndex(index + 1);
    this.sentCommit = index;
  }

  /** The member acknowledged up to `index`; false when that was known. */
  acknowledge(index: LogIndex): boolean {
    if (index <= this.match) return false;
    this.match = index;
    this.next = logIndex(Math.max(this.next, index + 1));
    this.paused = false;
    return true;
  }

  /**
   * The member refused an append after `rejected` and may agree up to `hint`. False when the refusal
   * is stale: in replicate state it is about something acknowledged since, in probe state it does
   * not answer the probe in flight.
   */
  stepBack(rejected: LogIndex, hint: LogIndex): boolean {
    if (this.state === 'replicate') {
      if (rejected <= this.match) return false;
      this.next = logIndex(this.match + 1);
      this.capSentCommit();
      return true;
    }
    if (this.next - 1 !== rejected) return false;
    this.next = logIndex(Math.max(Math.min(rejected, hint + 1), this.match + 1));
    this.capSentCommit();
    this.paused = false;
    return true;
  }

  isPaused(): boolean {
    return this.state === 'snapshot' || this.paused;
  }

  /** Accounts for an append of `count` entries starting at `next`. */
  sentAppend(count: number, bytes: number): void {
    if (this.state === 'replicate') {
      if (count > 0) {
        this.next = logIndex(this.next + count);
        this.inflights.add(logIndex(this.next - 1), bytes);
      }
      // A full window still lets one empty append out per heartbeat answer (etcd-io/etcd#14633).
      this.paused = this.inflights.full();
      return;
    }
    if (count > 0) this.paused = true;
  }

  noteSentCommit(commit: LogIndex): void {
    this.sentCommit = commit;
  }

  /** An empty append would teach the member a newer commit index. */
  wantsCommit(commit: LogIndex): boolean {
    return commit > this.sentCommit && this.sentCommit < this.next - 1;
  }

  private enter(state: ProgressState): void {
    this.state = state;
    this.paused = false;
    this.pendingSnapshot = NO_INDEX;
    this.inflights.reset();
  }

  private capSentCommit(): void {
    this.sentCommit = logIndex(Math.min(this.sentCommit, this.next - 1));
  }
}
