/**
 * One node of an interaction script: a core, its memory storage, its queues of storage jobs. Carries
 * out Readys the way the README's section 4.1 prescribes, synchronously or by jobs.
 */
import { logIndex, nodeId, term, type NodeId } from '../../src/common/ids.js';
import { RaftCore } from '../../src/raft/core/core.js';
import { decodeConfigChange } from '../../src/raft/core/membership-codec.js';
import type { TraceSink } from '../../src/raft/core/trace.js';
import type { ConfigState, Entry, Ready, SnapshotMeta } from '../../src/raft/core/types.js';
import { MemoryLog } from '../sim/core/memory-log.js';
import { readyText, type Mail, type StorageMail } from './format-message.js';

export interface NodeTemplate {
  readonly voters: readonly NodeId[];
  readonly learners: readonly NodeId[];
  readonly index: number;
  readonly preVote: boolean;
  readonly checkQuorum: boolean;
  readonly asyncStorage: boolean;
  readonly stepDownOnRemoval: boolean;
  readonly validateChanges: boolean;
  readonly maxInflightMessages: number;
  readonly maxApplyingBytes: number;
  readonly readMode: 'safe' | 'lease';
}

type AppendJob = Extract<StorageMail, { kind: 'storage-append' }>;
type ApplyJob = Extract<StorageMail, { kind: 'storage-apply' }>;

export class ScriptNode {
  readonly core: RaftCore;
  readonly storage = new MemoryLog();
  appendJobs: AppendJob[] = [];
  applyJobs: ApplyJob[] = [];
  private newest: SnapshotMeta;

  constructor(
    readonly id: NodeId,
    private readonly template: NodeTemplate,
    trace: TraceSink,
  ) {
    const config: ConfigState = {
      voters: template.voters,
      outgoing: [],
      learners: template.learners,
      learnersNext: [],
      autoLeave: false,
    };
    this.newest = { index: logIndex(template.index), term: term(1), config };
    if (template.index > 0) this.storage.installSnapshot(this.newest);
    this.storage.snapshotSource = () => this.newest;
    this.storage.hardState = { term: term(0), vote: nodeId(0), commit: logIndex(0) };
    this.core = new RaftCore({
      id,
      log: this.storage,
      random: () => 0,
      trace,
      electionTicks: 3,
      heartbeatTicks: 1,
      forwardProposals: true,
      maxAppendBytes: Number.MAX_SAFE_INTEGER,
      preVote: template.preVote,
      checkQuorum: template.checkQuorum,
      asyncStorage: template.asyncStorage,
      stepDownOnRemoval: template.stepDownOnRemoval,
      validateChanges: template.validateChanges,
      maxInflightMessages: template.maxInflightMessages,
      maxApplyingBytes: template.maxApplyingBytes,
      readMode: template.readMode,
      applied: logIndex(template.index),
    });
  }

  newestSnapshot(): SnapshotMeta {
    return this.newest;
  }

  /** Handles one Ready, printing it; returns the mail it puts into the network. */
  handleReady(print: (line: string) => void): Mail[] {
    const ready = this.core.takeReady();
    return this.template.asyncStorage
      ? this.handleAsync(ready, print)
      : this.handleSync(ready, print);
  }

  private handleSync(ready: Ready, print: (line: string) => void): Mail[] {
    const mail = [...ready.messages, ...ready.messagesAfterPersist];
    print(readyText(ready, mail));
    this.store(ready);
    this.apply(ready.committed);
    if (ready.persist !== undefined) this.core.onPersisted(ready.persist);
    this.confirmApplied(ready.committed);
    return mail;
  }

  private handleAsync(ready: Ready, print: (line: string) => void): Mail[] {
    const jobs: StorageMail[] = [];
    const { persist } = ready;
    if (persist !== undefined) {
      const hasAck = persist.index > 0 || persist.snapshotIndex > 0;
      const responses: Mail[] = [...ready.messagesAfterPersist, ...persist.selfMessages];
      if (hasAck) {
        const ack = { ...persist, selfMessages: [] };
        responses.push({ kind: 'storage-append-done', node: this.id, ack });
      }
      const job: AppendJob = { kind: 'storage-append', node: this.id, ready, responses };
      this.appendJobs.push(job);
      jobs.push(job);
    }
    if (ready.committed.length > 0) {
      const job: ApplyJob = { kind: 'storage-apply', node: this.id, entries: ready.committed };
      this.applyJobs.push(job);
      jobs.push(job);
    }
    print(readyText(ready, [...ready.messages, ...jobs]));
    return [...ready.messages];
  }

  store(ready: Ready): void {
    if (ready.hardState !== undefined) this.storage.setHardState(ready.hardState);
    if (ready.snapshot !== undefined) {
      this.storage.installSnapshot(ready.snapshot);
      this.newest = ready.snapshot;
    }
    this.storage.append(ready.entries);
  }

  apply(entries: readonly Entry[]): void {
    for (const entry of entries) {
      let { config } = this.core.status();
      if (entry.kind === 'membership') {
        const change = decodeConfigChange(entry.data);
        if (change === 'malformed') throw new Error('malformed membership entry');
        config = this.core.applyConfigChange(change, entry.index);
      }
      this.newest = { index: entry.index, term: entry.term, config };
    }
  }

  confirmApplied(entries: readonly Entry[]): void {
    const last = entries[entries.length - 1];
    if (last !== undefined) this.core.onApplied(last.index);
  }

  /** Delivers one piece of mail; returns an error text for the script. */
  receive(mail: Mail): string | undefined {
    switch (mail.kind) {
      case 'storage-append':
      case 'storage-apply':
        throw new Error('storage jobs are not delivered');
      case 'storage-append-done':
        this.core.onPersisted(mail.ack);
        return undefined;
      case 'storage-apply-done':
        this.confirmApplied(mail.entries);
        return undefined;
      default:
        break;
    }
    if (mail.from === this.id) {
      const { term: own } = this.core.status();
      const nothing = { index: logIndex(0), indexTerm: term(0), snapshotIndex: logIndex(0) };
      this.core.onPersisted({ term: own, ...nothing, selfMessages: [mail] });
      return undefined;
    }
    switch (this.core.step(mail)) {
      case 'unknown-peer':
        return 'raft: cannot step as peer not found';
      case 'dropped':
        return mail.kind === 'propose' ? 'raft proposal dropped' : undefined;
      case 'invalid':
        return 'invalid message';
      case 'ok':
        return undefined;
    }
  }
}
