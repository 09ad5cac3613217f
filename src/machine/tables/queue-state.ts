/**
 * One queue as the tables hold it, and the running sums over all live queues. The sums per queue make
 * deleting a queue O(1): they are taken off at once, whatever a purge has still to free.
 */
import type { Micros, QueueId, TenantId } from '../../common/ids.js';
import type { QueueOptions } from '../commands/catalogue.js';
import type { QueueRow, Totals } from './tables.js';

export interface QueueOrigin {
  readonly id: QueueId;
  readonly tenant: TenantId;
  readonly name: string;
  readonly createdAt: Micros;
  readonly options: QueueOptions;
  readonly live: boolean;
}

export class QueueState implements QueueRow {
  readonly id: QueueId;
  readonly tenant: TenantId;
  readonly name: string;
  readonly createdAt: Micros;
  options: QueueOptions;
  optionsVersion = 1;
  recognisedSince = 0;
  configured = false;
  /** False once deleted: its partitions, cursors and leases no longer exist for anyone. */
  live: boolean;
  firstPartition = -1;
  /** Tail of the chain: partitions are linked in id order. */
  lastPartition = -1;
  partitionCount = 0;
  deadLetters = 0;
  cursorCount = 0;
  leaseCount = 0;
  messagesRetained = 0;
  bytesRetained = 0;

  constructor(origin: QueueOrigin) {
    this.id = origin.id;
    this.tenant = origin.tenant;
    this.name = origin.name;
    this.createdAt = origin.createdAt;
    this.options = origin.options;
    this.live = origin.live;
  }
}

/** Sums over live queues; a garbage queue's sums no longer count. */
export class LiveTotals implements Totals {
  messagesAppended = 0;
  messagesRetained = 0;
  bytesRetained = 0;
  partitions = 0;
  cursors = 0;
  leases = 0;

  subtract(queue: QueueState): void {
    this.messagesRetained -= queue.messagesRetained;
    this.bytesRetained -= queue.bytesRetained;
    this.partitions -= queue.partitionCount;
    this.cursors -= queue.cursorCount;
    this.leases -= queue.leaseCount;
  }
}
