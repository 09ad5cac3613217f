/**
 * Snapshots of a member. Leading, it makes one when a member needs entries that are purged, streams it
 * and tells the core how that went (rule D4: always). Following, it takes one to the disk; the state is
 * never exchanged under a running node: the snapshot is marked and the process ends to load it.
 */
import type { LogIndex, NodeId, Term } from '../../../common/ids.js';
import { logIndex } from '../../../common/ids.js';
import { memberIds, type SnapshotMeta, type SnapshotRequest } from '../../core/index.js';
import type { GroupLog } from '../ports.js';
import type { MemberBook } from './member-book.js';
import type { PeerPort } from './peer-port.js';
import type { RaftLoop } from './raft-loop.js';
import type { ExportedSnapshot, SnapshotOffer, SnapshotPort } from './snapshot-port.js';
import type { SnapshotVerdict, StagedSnapshot } from './snapshot-port.js';

/** A snapshot nobody was sent for this long is deleted. */
const UNUSED_MS = 30_000;
/** Pause after a snapshot that could not be made. */
const RETRY_MS = 2_000;

export interface SnapshotDeskPort {
  readonly self: NodeId;
  readonly kinds: number;
  readonly snapshots: SnapshotPort;
  readonly book: Pick<MemberBook, 'config'>;
  readonly peers: Pick<PeerPort, 'sendSnapshot'>;
  readonly log: GroupLog;
  readonly nowMs: () => number;
  loop(): Pick<RaftLoop, 'status' | 'reportSnapshot' | 'term'>;
  firstIndex(): LogIndex;
  /** Term of an entry of the own log, undefined when it is not there. */
  termAt(index: LogIndex): Term | undefined;
  leader(): NodeId;
  takesPart(): boolean;
  /** Ends this node's part for good: nothing is acknowledged any more when it resolves. */
  halt(): Promise<void>;
  /** The process ends, to be started again. */
  restart(): void;
}

export class SnapshotDesk {
  private ready: ExportedSnapshot | null = null;
  private making = false;
  private staging = false;
  private stopped = false;
  private usedMs = -Infinity;
  private retryMs = -Infinity;
  private readonly sending = new Set<NodeId>();

  constructor(private readonly port: SnapshotDeskPort) {}

  /** Entries from here on are needed by a member that gets a snapshot now. */
  get hold(): LogIndex | null {
    return this.ready?.meta.index ?? null;
  }

  /** For the core: the newest snapshot that helps this member, or none yet. */
  snapshotFor(peer: NodeId): SnapshotMeta | 'preparing' {
    const { ready } = this;
    if (ready !== null && this.helps(ready.meta, peer)) {
      this.usedMs = this.port.nowMs();
      return ready.meta;
    }
    void this.make();
    return 'preparing';
  }

  /** The core has decided to send; the outcome is always reported. */
  send({ to, snapshot, term }: SnapshotRequest): void {
    const { ready } = this;
    if (ready === null || ready.meta.index !== snapshot.index || this.sending.has(to)) {
      queueMicrotask(() => this.port.loop().reportSnapshot(to, 'failed'));
      return;
    }
    this.sending.add(to);
    void this.stream(to, term, ready);
  }

  /** Called a few times a second. */
  tick(): void {
    const { ready } = this;
    if (ready === null || this.sending.size > 0) return;
    if (this.port.nowMs() - this.usedMs < UNUSED_MS) return;
    this.ready = null;
    void this.release(ready);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    const { ready } = this;
    this.ready = null;
    if (ready !== null) await this.release(ready);
  }

  /** A leader offers a snapshot. */
  async take(offer: SnapshotOffer, bytes: AsyncIterable<Uint8Array>): Promise<SnapshotVerdict> {
    const { port } = this;
    if (this.isCovered(offer)) return 'unneeded';
    const objection = this.objectionTo(offer);
    if (objection !== null) {
      port.log.warn('raft: a snapshot was refused', { from: offer.from, why: objection });
      return 'refused';
    }
    this.staging = true;
    try {
      return await this.receive(offer, bytes);
    } finally {
      this.staging = false;
    }
  }

  private objectionTo(offer: SnapshotOffer): string | null {
    const { port } = this;
    if (!port.takesPart()) return 'this node takes no part';
    if (this.staging) return 'another snapshot is being received';
    if (offer.leaderTerm !== port.loop().term)
      return `term ${offer.leaderTerm} is not the current one`;
    if (offer.from !== port.leader()) return 'its sender does not lead';
    if (offer.clusterVersion <= port.kinds) return null;
    return `it is of cluster version ${offer.clusterVersion}, this build reads ${port.kinds}`;
  }

  private isCovered({ index, term }: Pick<SnapshotOffer, 'index' | 'term'>): boolean {
    const { commit } = this.port.loop().status();
    return commit >= index || this.port.termAt(index) === term;
  }

  private async receive(
    offer: SnapshotOffer,
    bytes: AsyncIterable<Uint8Array>,
  ): Promise<SnapshotVerdict> {
    const { port } = this;
    const { index, from } = offer;
    port.log.info('raft: receiving a snapshot', { from, index, files: offer.files.length });
    const staged = await this.stage(offer, bytes);
    // Entries may have come another way in the meantime.
    if (this.isCovered(staged) || !port.takesPart()) {
      await staged.discard();
      return 'unneeded';
    }
    // From here on nothing is acknowledged: what the next start loads must hold all that ever was.
    await port.halt();
    try {
      await staged.commit();
      port.log.error('raft: the process exits to load a received snapshot', { index, from });
    } catch (error) {
      // It takes no part any more: only the next start, with or without the snapshot, brings it back.
      const fields = { index, from, error: String(error) };
      port.log.error('raft: a received snapshot was not kept; the process exits', fields);
      throw error;
    } finally {
      port.restart();
    }
    return 'staged';
  }

  /** The sender hears nothing of a failure, and tries again and again. */
  private async stage(
    offer: SnapshotOffer,
    bytes: AsyncIterable<Uint8Array>,
  ): Promise<StagedSnapshot> {
    const { snapshots, log } = this.port;
    try {
      return await snapshots.stage(offer, bytes);
    } catch (error) {
      const { index, from } = offer;
      log.warn('raft: a snapshot could not be received', { index, from, error: String(error) });
      throw error;
    }
  }

  private helps(meta: SnapshotMeta, peer: NodeId): boolean {
    return meta.index + 1 >= this.port.firstIndex() && memberIds(meta.config).includes(peer);
  }

  private async make(): Promise<void> {
    const { port } = this;
    if (this.making || this.stopped || this.sending.size > 0 || port.nowMs() < this.retryMs) return;
    this.making = true;
    try {
      // The core asks in the middle of its work; state and membership are of one index after it.
      await Promise.resolve();
      const old = this.ready;
      this.ready = null;
      if (old !== null) await this.release(old);
      const made = await port.snapshots.create({ config: port.book.config });
      if (this.stopped) await this.release(made);
      else this.ready = made;
      this.usedMs = port.nowMs();
    } catch (error) {
      this.retryMs = port.nowMs() + RETRY_MS;
      port.log.warn('raft: a snapshot could not be made', { error: String(error) });
    } finally {
      this.making = false;
    }
  }

  private async stream(to: NodeId, leaderTerm: Term, snapshot: ExportedSnapshot): Promise<void> {
    const { port } = this;
    const { meta, files, clusterVersion } = snapshot;
    const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
    const fields = { target_node: to, index: meta.index, files: files.length, bytes: sizeBytes };
    port.log.info('raft: sending a snapshot', fields);
    const { index, term } = meta;
    const offer = { from: port.self, leaderTerm, index, term, clusterVersion, files };
    let verdict: SnapshotVerdict | 'failed';
    try {
      const bytes = (): AsyncIterable<Uint8Array> => snapshot.bytes();
      verdict = await port.peers.sendSnapshot(to, { offer, sizeBytes, bytes });
    } catch {
      verdict = 'failed';
    }
    this.sending.delete(to);
    this.usedMs = port.nowMs();
    port.log.info('raft: snapshot sent', { target_node: to, index: logIndex(index), verdict });
    if (this.stopped) return;
    const took = verdict === 'staged' || verdict === 'unneeded';
    port.loop().reportSnapshot(to, took ? 'sent' : 'failed');
  }

  private async release(snapshot: ExportedSnapshot): Promise<void> {
    try {
      await snapshot.release();
    } catch (error) {
      this.port.log.warn('file not closed cleanly', { error: String(error) });
    }
  }
}
