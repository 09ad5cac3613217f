/**
 * The messages of one push request as parallel typed arrays: no object, string or slice per message,
 * whatever the size of the request. Payloads and client ids are positions in the request body; minted
 * ids in text form are positions in a side arena. Filled by the edge, read once by the encoder.
 */

/** Message left out of the command (collapsed repeat, refused). */
export const LEFT_OUT = -1;

const ID_BYTES = 16;

export class PushBatch {
  /** Append group of each message, or LEFT_OUT. */
  readonly groups: Int32Array;
  /** Message ids and transactionId hashes, 16 B each. */
  readonly ids: Uint8Array;
  readonly hashes: Uint8Array;
  /** Message flag bits (MESSAGE_FLAG). */
  readonly flags: Uint8Array;
  /** transactionId range; in `arena` where `inArena` is 1, else in `body`. */
  readonly idStarts: Uint32Array;
  readonly idEnds: Uint32Array;
  readonly inArena: Uint8Array;
  /** Payload range in `body`. */
  readonly payloadStarts: Uint32Array;
  readonly payloadEnds: Uint32Array;
  /** `sub` of the token, the same for every message of a request. */
  producerSub: Uint8Array | null = null;

  constructor(
    readonly count: number,
    readonly body: Uint8Array,
    readonly arena: Uint8Array,
  ) {
    this.groups = new Int32Array(count).fill(LEFT_OUT);
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
