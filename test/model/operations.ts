/**
 * The operations of a sequence as plain data. References to what earlier operations got (messages of a
 * pop, dead letters) are by operation number and position, looked up when the operation runs: a sequence
 * stays meaningful when operations are taken out of it.
 */
export interface PushItem {
  readonly queue: string;
  readonly partition: string;
  /** Absent: the broker mints one. */
  readonly txn?: string;
}

export interface PopOp {
  readonly kind: 'pop';
  readonly scope: 'queue' | 'partition' | 'discovery';
  readonly queue: string;
  readonly partition: string;
  readonly labels: { readonly namespace?: string; readonly task?: string };
  readonly group?: string;
  readonly batch?: number;
  readonly partitions?: number;
  readonly commit?: 'commitOnDelivery' | 'autoAck';
  readonly leaseSeconds?: number;
  readonly mode?: string;
  /** `now`, or the start of an operation, or this many ms ahead. */
  readonly from?: Instant | 'now';
  readonly conflation?: boolean;
  readonly wait?: true;
}

/** An instant: the start of an operation of the sequence, or so many ms from now. */
export type Instant = { readonly before: number } | { readonly inMs: number };

/** A message delivered by pop number `pop`; positions count modulo what there is. */
export interface Delivered {
  readonly pop: number;
  readonly claim: number;
  readonly index: number;
}

export type Status = 'completed' | 'failed' | 'retry' | 'dlq';

export interface AckItem {
  readonly of: Delivered;
  readonly status: Status;
  readonly error?: string;
  /** Another id on the same partition. */
  readonly txn?: string;
  readonly lease: 'own' | 'none' | 'bogus' | { readonly pop: number };
}

export interface AckOp {
  readonly kind: 'ack';
  /** Absent: the group of the first message's pop. */
  readonly group?: string | null;
  readonly single: boolean;
  readonly items: readonly AckItem[];
}

export interface PositionItem {
  readonly queue: string;
  readonly partition: string;
  readonly group: string;
  readonly offset: number | null;
  readonly metadata?: string;
}

export interface TransactionOp {
  readonly kind: 'transaction';
  readonly acks: readonly (AckItem & { readonly group?: string | null })[];
  readonly pushes: readonly PushItem[];
  readonly positions: readonly PositionItem[];
  /** Pops whose leases are named in `requiredLeases`. */
  readonly required: readonly number[];
}

export type SeekTarget = { readonly toEnd: true } | { readonly at: Instant };

/** A pop that waits, and what happens while it does. */
export interface WaitOp {
  readonly kind: 'wait';
  readonly pop: PopOp;
  readonly meanwhile: Step;
}

export type Op =
  | { readonly kind: 'push'; readonly items: readonly PushItem[] }
  | PopOp
  | AckOp
  | TransactionOp
  | { readonly kind: 'advance'; readonly ms: number }
  /** The broker stops and starts again. */
  | { readonly kind: 'restart' }
  | WaitOp
  | { readonly kind: 'extend'; readonly pop: number; readonly seconds?: number }
  | {
      readonly kind: 'seek';
      readonly group: string;
      readonly queue: string;
      readonly partition?: string;
      readonly target: SeekTarget;
    }
  | {
      readonly kind: 'configure';
      readonly queue: string;
      readonly mode?: 'merge' | 'replace';
      readonly options: Readonly<Record<string, number | boolean | string | null>>;
    }
  | { readonly kind: 'deleteQueue'; readonly queue: string }
  | {
      readonly kind: 'deleteGroup';
      readonly group: string;
      readonly queue?: string;
      readonly keepMetadata: boolean;
    }
  | { readonly kind: 'subscription'; readonly group: string; readonly at: Instant }
  | { readonly kind: 'letters'; readonly queue?: string; readonly group?: string }
  | { readonly kind: 'purge'; readonly queue: string; readonly group?: string }
  | {
      readonly kind: 'replay';
      /** Position in the list of dead letters, modulo its length; by id or by message. */
      readonly nth: number;
      readonly byMessage: boolean;
      readonly queue?: string;
      readonly partition?: string;
    }
  | { readonly kind: 'deleteMessage'; readonly nth: number; readonly of?: Delivered }
  | { readonly kind: 'positions'; readonly group: string };

/** An operation with its number; numbers survive the removal of others. */
export interface Step {
  readonly number: number;
  readonly op: Op;
}
