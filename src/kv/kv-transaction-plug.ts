/**
 * Keys and values inside a transaction (state.md §1.9): the `kv` array of its body. Same operations and
 * validation as a call of its own, with tighter bounds and without prefixes. No rate and no occupancy
 * is charged there; the switch applies, as a refusal that a worker does not retry.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import type { JsonWriter } from '../common/json/json-writer.js';
import { KIND_ARRAY } from '../common/json/json-syntax.js';
import { StateRefusal } from '../common/state-refusal.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import type {
  PlannedOperations,
  TransactionCall,
  TransactionPlug,
} from '../http/transaction-plugs.js';
import { TransactionPlugs, TransactionRefusal } from '../http/transaction-plugs.js';
import type { Outcome } from '../machine/commands/catalogue.js';
import { CommandKind } from '../machine/commands/catalogue.js';
import type { TransactionOutcomes, TransactionRollback } from '../machine/commands/index.js';
import { encodeKvSection, KvOpKind } from '../machine/commands/index.js';
import type { KvLostOperation } from '../machine/commands/index.js';
import {
  answerOf,
  checkClusterVersion,
  KvPlaceInLog,
  sortKvCall,
} from '../preparation/kv/kv-call.js';
import type { SortedKvCall } from '../preparation/kv/kv-call.js';
import type { KvOperation, KvResult } from '../preparation/kv/kv-operation.js';
import { abortFields, writeKvFields } from '../preparation/kv/kv-render.js';
import { scanOperationsArray } from '../preparation/kv/kv-scan.js';
import { badKv, checkKvBounds, validateKv } from '../preparation/kv/kv-validate.js';
import type { KvLimits } from '../preparation/kv/kv-validate.js';
import type { Group } from '../raft/index.js';
import { Groups } from '../raft/index.js';

const MAX_OPS = 64;
const MAX_KEYS = 256;
const FORBIDDEN = 403;

@Injectable()
export class KvTransactionPlug implements TransactionPlug, OnModuleInit {
  readonly field = 'kv';

  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(TransactionPlugs) private readonly plugs: TransactionPlugs,
  ) {}

  onModuleInit(): void {
    this.plugs.add(this);
  }

  plan(json: Uint8Array, { tenant }: TransactionCall): PlannedOperations {
    if (!this.groups.first.tables.controls.isOn('kv')) {
      throw new TransactionRefusal(FORBIDDEN, 'kv_disabled', 'the key-value store is switched off');
    }
    const group = this.groups.ofTenant(tenant);
    try {
      const operations = this.read(json);
      checkClusterVersion(group, sortKvCall(operations));
      return new PlannedKv(operations, group, tenant);
    } catch (error) {
      if (!(error instanceof StateRefusal)) throw error;
      const { status, code, reason = code, retryAfterSeconds = null, body } = error;
      const text = body['detail'] ?? reason;
      throw new TransactionRefusal(status, reason, text, retryAfterSeconds);
    }
  }

  private read(json: Uint8Array): KvOperation[] {
    const limits: KvLimits = {
      ...{ maxOps: MAX_OPS, maxKeys: MAX_KEYS, prefixes: false },
      maxValueBytes: this.config.kv.maxValueBytes,
    };
    const value = { kind: KIND_ARRAY, bytes: json, start: 0, end: json.length };
    const raw = scanOperationsArray(value, MAX_OPS);
    if (raw === null) throw badKv('kv_bad_request', 'kv must be an array');
    return validateKv(checkKvBounds(raw, limits), limits);
  }
}

class PlannedKv implements PlannedOperations {
  private readonly call: SortedKvCall;
  private readonly place: KvPlaceInLog;
  private results: readonly KvResult[] = [];

  constructor(
    private readonly operations: readonly KvOperation[],
    group: Group,
    tenant: Uint8Array,
  ) {
    this.call = sortKvCall(operations);
    this.place = new KvPlaceInLog(group, tenant);
  }

  get count(): number {
    return this.operations.length;
  }

  get growing(): boolean {
    return this.call.planned.some(
      ({ operation: { planned } }) =>
        planned.kind === KvOpKind.Put || planned.kind === KvOpKind.Incr,
    );
  }

  section(): Uint8Array {
    const { planned, reads } = this.call;
    const operations = planned.map(({ operation }) => operation.planned);
    return encodeKvSection({ reads: reads.length > 0, operations });
  }

  onApplied(outcome: Outcome): void {
    if (this.call.reads.length === 0) return;
    if (outcome.kind === CommandKind.Transaction && outcome.rollback === null) {
      this.place.take(outcome);
    }
  }

  async readResults({ keyValue }: Readonly<TransactionOutcomes>): Promise<void> {
    if (keyValue === undefined) return;
    const applied = { outcome: keyValue, place: this.place };
    this.results = (await answerOf(this.call, this.count, applied)).results ?? [];
  }

  release(): Promise<void> {
    return this.place.close();
  }

  writeResult(out: JsonWriter, i: number): void {
    const [operation, result] = [this.operations[i], this.results[i]];
    if (operation === undefined || result === undefined) return;
    writeKvFields(out, { operation, result });
  }

  writeRollback(out: JsonWriter, rollback: TransactionRollback, firstIndex: number): void {
    out.ascii(',"ok":false');
    const lost = rollback.detail as KvLostOperation;
    const failed = this.call.planned[lost.operation];
    if (failed === undefined) return;
    const { index, operation } = failed;
    const { reason, version, value } = lost;
    const abort = { failedIndex: index, operation, reason, version, value };
    const fields = new TextEncoder().encode(abortFields(abort, firstIndex + index));
    out.splice(fields, 0, fields.length);
  }
}
