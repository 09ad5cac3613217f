/** Everything the clients of a crash run were told, and the checks of it. */
import { GroupCursor } from './group-cursor.js';
import { PartitionLog } from './partition-log.js';
import { ViolationLog } from './violation-log.js';

export interface LedgerCounts {
  pushRequests: number;
  pushRetries: number;
  duplicates: number;
  pops: number;
  acks: number;
  ackRetries: number;
  staleAcks: number;
  nacks: number;
  deadLetters: number;
  abandonedLeases: number;
  audits: number;
  auditedMessages: number;
  dedupProbes: number;
  ackProbes: number;
}

export class Ledger {
  /** Ids whose filing as a dead letter was answered. */
  readonly letters = new Set<string>();
  readonly counts: LedgerCounts = {
    ...{ pushRequests: 0, pushRetries: 0, duplicates: 0, pops: 0, acks: 0, ackRetries: 0 },
    ...{ staleAcks: 0, nacks: 0, deadLetters: 0, abandonedLeases: 0, audits: 0 },
    ...{ auditedMessages: 0, dedupProbes: 0, ackProbes: 0 },
  };
  private readonly logs = new Map<string, PartitionLog>();
  private readonly cursors = new Map<string, GroupCursor>();

  constructor(readonly violations = new ViolationLog()) {}

  log(partition: string): PartitionLog {
    let log = this.logs.get(partition);
    if (log === undefined) {
      log = new PartitionLog(partition, this.violations);
      this.logs.set(partition, log);
    }
    return log;
  }

  cursor(group: string, partition: string): GroupCursor {
    const key = `${group}/${partition}`;
    let cursor = this.cursors.get(key);
    if (cursor === undefined) {
      cursor = new GroupCursor(key, this.violations);
      this.cursors.set(key, cursor);
    }
    return cursor;
  }

  allLogs(): readonly PartitionLog[] {
    return [...this.logs.values()];
  }

  allCursors(): readonly GroupCursor[] {
    return [...this.cursors.values()];
  }

  get acknowledgedMessages(): number {
    return this.allLogs().reduce((sum, { acknowledged }) => sum + acknowledged, 0);
  }

  get redelivered(): number {
    return this.allCursors().reduce((sum, { redelivered }) => sum + redelivered, 0);
  }
}
