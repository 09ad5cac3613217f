/** A pop and what it gets: the call, its answer, and the form in which it waits. */
import type { FifoNode } from '../../common/fifo.js';
import type { WheelEntry } from '../../common/timing-wheel.js';
import type { EphemeralQueue } from '../queues/ephemeral-queue.js';
import type { QueueGroup } from '../queues/queue-group.js';
import type { GroupCursor } from '../rings/group-cursor.js';

export interface PopCall {
  readonly queue: string;
  /** Null = any partition of this node. */
  readonly partition: string | null;
  readonly group: string;
  readonly batch: number;
  readonly commitOnDelivery: boolean;
  /** Monotonic ms; null = does not wait. */
  readonly deadlineMs: number | null;
}

/** What an answer leased, so that it can be taken back when nobody received it. */
export interface Delivery {
  readonly queue: EphemeralQueue;
  readonly group: QueueGroup;
  readonly parts: readonly DeliveredPart[];
}

export interface DeliveredPart {
  readonly cursor: GroupCursor;
  readonly sequences: Float64Array;
  readonly attempts: Uint16Array;
}

export interface PopAnswer {
  readonly kind: 'answer';
  /** The whole JSON body; bytes of its own. */
  readonly body: Uint8Array;
  readonly messages: number;
  /** Null when nothing is leased. */
  readonly delivery: Delivery | null;
}

/** `moved`: the partition, or the last one of the queue, left this node while the pop waited. */
export type PopOutcome = PopAnswer | { readonly kind: 'moved' };

export class WaitingPop implements FifoNode<WaitingPop>, WheelEntry<WaitingPop> {
  fifo: unknown = undefined;
  fifoNext: WaitingPop | undefined;
  fifoPrevious: WaitingPop | undefined;
  wheelBucket = -1;
  wheelTick = 0;
  wheelNext: WaitingPop | undefined;
  wheelPrevious: WaitingPop | undefined;

  constructor(
    readonly call: PopCall,
    readonly queue: EphemeralQueue,
    readonly group: QueueGroup,
    readonly parked: {
      /** Position among all pops that ever waited. */
      readonly order: number;
      readonly deadlineMs: number;
      readonly settle: (outcome: PopOutcome) => void;
    },
  ) {}
}
