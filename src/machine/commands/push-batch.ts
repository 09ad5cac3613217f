/**
 * The messages of one push request as parallel typed arrays: no object, string or slice per message,
 * whatever the size of the request. Payloads and client ids are positions in the request body; minted
 * ids in text form are positions in a side arena. Filled by the edge, read once by the encoder, reused
 * for the next request.
 */

/** Message left out of the command (collapsed repeat, refused). */
export const LEFT_OUT = -1;

const ID_BYTES = 16;
const EMPTY = new Uint8Array(0);

export class PushBatch {
  /** Messages; the arrays may have room for more. */
  count = 0;
  body: Uint8Array = EMPTY;
  arena: Uint8Array = EMPTY;
  /** Append group of each message, or LEFT_OUT. */
  groups = new Int32Array(0);
  /** Message ids and transactionId hashes, 16 B each. */
  ids = new Uint8Array(0);
  hashes = new Uint8Array(0);
  /** Message flag bits (MESSAGE_FLAG). */
  flags = new Uint8Array(0);
  /** transactionId range; in `arena` where `inArena` is 1, else in `body`. */
  idStarts = new Uint32Array(0);
  idEnds = new Uint32Array(0);
  inArena = new Uint8Array(0);
  /** Payload range in `body`. */
  payloadStarts = new Uint32Array(0);
  payloadEnds = new Uint32Array(0);
  /** `sub` of the token, the same for every message of a request. */
  producerSub: Uint8Array | null = null;
  /** 16 B per message, of those with MESSAGE_FLAG.traceId; null when none has. */
  traceIds: Uint8Array | null = null;

  constructor(count: number, body: Uint8Array, arena: Uint8Array) {
    this.reset(count, body, arena);
  }

  /** Starts another request in the same memory; every message is left out until its group is set. */
  reset(count: number, body: Uint8Array, arena: Uint8Array): void {
    if (count > this.flags.length) this.allocate(count);
    this.groups.fill(LEFT_OUT, 0, count);
    this.count = count;
    this.body = body;
    this.arena = arena;
    this.producerSub = null;
    this.traceIds = null;
  }

  private allocate(count: number): void {
    this.groups = new Int32Array(count);
    this.ids = new Uint8Array(count * ID_BYTES);
    this.hashes = new Uint8Array(count * ID_BYTES);
    this.flags = new Uint8Array(count);
    this.idStarts = new Uint32Array(count);
    this.idEnds = new Uint32Array(count);
    this.inArena = new Uint8Array(count);
    this.payloadStarts = new Uint32Array(count);
    this.payloadEnds = new Uint32Array(count);
  }
}

/** An append group of the batch: where its messages go. */
export interface PushBatchGroup {
  readonly queue: string;
  readonly partition: string;
  /** Options version of the queue the preparer saw, 0 when the queue was missing. */
  readonly optionsVersion: number;
  readonly encrypted: boolean;
}
