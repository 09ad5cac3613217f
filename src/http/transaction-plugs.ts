/**
 * Where features plug their part of a transaction in (messages.md §8; state.md §1.9, §2.5): one plug per
 * top-level array of the body, found by its field. A feature adds its plug in `onModuleInit`; the
 * transactions room asks it, in this order, and knows nothing else of it:
 *
 *   plan(json, call)  checks and gates the array; throws TransactionRefusal
 *   section()         the bytes of its section; asked again when the command is prepared again
 *   onApplied, readResults, release   for results that are read from the state at the call's place
 *   writeResult       the fields of one result behind {"index":n,"type":"kv","opIndex":i
 *   writeRollback     the fields a rollback of its section adds to the answer
 *
 * The machine side is machine/apply/transaction-part.ts.
 */
import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { JsonWriter } from '../common/json/json-writer.js';
import type { Outcome } from '../machine/commands/catalogue.js';
import type {
  TransactionOutcomes,
  TransactionRollback,
} from '../machine/commands/catalogue-transactions.js';

export type TransactionField = 'kv' | 'timers';

/** Refuses the call before anything is logged, in the transaction's envelope. */
export class TransactionRefusal extends Error {
  override readonly name = 'TransactionRefusal';

  constructor(
    readonly status: number,
    /** `reason` of the answer. */
    readonly reason: string,
    text: string,
    readonly retryAfterSeconds: number | null = null,
  ) {
    super(text);
  }
}

export interface TransactionCall {
  readonly request: FastifyRequest;
  readonly tenant: Uint8Array;
  /** Monotonic, milliseconds. */
  readonly deadlineMs: number;
}

/** A checked array of one request. */
export interface PlannedOperations {
  /** Operations: results it will have, indexes it takes. */
  readonly count: number;
  /** It grows storage: refused with 507 while the disk is too full. */
  readonly growing: boolean;
  /** Body of its section; called again after a `reprepare`. */
  section(): Uint8Array | Promise<Uint8Array>;
  /** In the middle of apply, before anything later is applied: take what is read later, no more. */
  onApplied?(outcome: Outcome): void;
  /** What takes time, before the results are written. */
  readResults?(outcomes: Readonly<TransactionOutcomes>): Promise<void>;
  /** In the end, whatever came. */
  release?(): Promise<void>;
  /** Fields of the i-th result, each with a comma in front. */
  writeResult(out: JsonWriter, i: number, outcomes: Readonly<TransactionOutcomes>): void;
  /** Fields it adds to a rollback of its section, each with a comma in front. */
  writeRollback(out: JsonWriter, rollback: TransactionRollback, firstIndex: number): void;
}

export interface TransactionPlug {
  readonly field: TransactionField;
  /** `json` is the text of the array as it stands in the body: valid JSON and UTF-8. */
  plan(json: Uint8Array, call: TransactionCall): PlannedOperations | Promise<PlannedOperations>;
}

@Injectable()
export class TransactionPlugs {
  private readonly plugs = new Map<TransactionField, TransactionPlug>();

  add(plug: TransactionPlug): void {
    this.plugs.set(plug.field, plug);
  }

  find(field: TransactionField): TransactionPlug | undefined {
    return this.plugs.get(field);
  }
}
