/**
 * Key-value calls over HTTP (state.md §1.3, §1.4): bytes in, bytes out. Bounds first, then the gate,
 * then what the operations say, then the log. What was charged is given back when the outcome is known:
 * nothing was written, or it is counted where this node has applied it.
 */
import { Inject, Injectable } from '@nestjs/common';
import { JsonWriter } from '../common/json/json-writer.js';
import type { QueenConfig } from '../config/index.js';
import { monotonicMs, QUEEN_CONFIG } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import { asKvRefusal, runKvCall } from '../preparation/kv/kv-call.js';
import type { KvCaller } from '../preparation/kv/kv-call.js';
import type { KvAnswer, KvOperation, KvResult } from '../preparation/kv/kv-operation.js';
import { abortFields, writeKvElement } from '../preparation/kv/kv-render.js';
import { scanOperationsBody } from '../preparation/kv/kv-scan.js';
import type { RawOperation, RawOperations } from '../preparation/kv/kv-scan.js';
import { badKv, checkKvBounds, validateKv } from '../preparation/kv/kv-validate.js';
import type { KvLimits } from '../preparation/kv/kv-validate.js';
import { isOutcomeUnknown } from '../preparation/state-failures.js';
import { StateGate } from '../preparation/state-gate.js';
import type { GatePass } from '../preparation/state-gate.js';
import { StateTraffic } from '../preparation/state-traffic.js';
import type { KvOpLabel } from '../preparation/state-traffic.js';
import { Groups } from '../raft/index.js';

const NO_RESULTS = new TextEncoder().encode('{"results":[]}');
const READ_PASS: GatePass = { refund: () => undefined };

/** A call that was answered. */
interface Done {
  readonly operations: readonly KvOperation[];
  readonly answer: KvAnswer;
}

export interface KvElement {
  readonly body: Uint8Array;
  /** Of the row that was found, else null. */
  readonly version: number | null;
}

@Injectable()
export class KvService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(StateGate) private readonly gate: StateGate,
    @Inject(StateTraffic) private readonly traffic: StateTraffic,
  ) {}

  /** `{"results":[…]}`, or the answer of a call that a required operation undid. */
  async batch(tenant: Uint8Array, body: Uint8Array): Promise<Uint8Array> {
    const limits = this.limits();
    const raw = scanOperationsBody(body, limits.maxOps);
    if (raw === null) {
      throw badKv('kv_bad_body', 'the body is {"operations":[…]} or an array of operations');
    }
    if (raw.count === 0) return NO_RESULTS;
    this.traffic.bytesIn += body.length;
    const done = await this.run(tenant, raw);
    const { answer, operations } = done;
    if (answer.abort !== null) return this.sent(aborted(done));
    const writer = new JsonWriter().ascii('{"results":[');
    answer.results.forEach((result, index) => {
      if (index > 0) writer.ascii(',');
      writeKvElement(writer, index, { operation: operations[index] as KvOperation, result });
    });
    return this.sent(writer.ascii(']}').toBytes());
  }

  /** One operation, answered by its bare element; `bodyBytes` of the request. */
  async single(tenant: Uint8Array, operation: RawOperation, bodyBytes: number): Promise<KvElement> {
    this.traffic.bytesIn += bodyBytes;
    const done = await this.run(tenant, { operations: [operation], count: 1 });
    const { answer, operations } = done;
    if (answer.abort !== null) return { body: this.sent(aborted(done)), version: null };
    const [result] = answer.results as [KvResult];
    const writer = new JsonWriter();
    writeKvElement(writer, 0, { operation: operations[0] as KvOperation, result });
    const version = result.kind === 'get' ? (result.row?.version ?? null) : null;
    return { body: this.sent(writer.toBytes()), version };
  }

  private async run(tenant: Uint8Array, raw: RawOperations): Promise<Done> {
    const request = checkKvBounds(raw, this.limits());
    const pass = request.isWrite ? this.gate.enterWrite(tenant, request.charge) : READ_PASS;
    if (!request.isWrite) this.gate.enterRead(tenant);
    try {
      const operations = validateKv(request, this.limits());
      const answer = await this.measured(tenant, operations);
      pass.refund();
      return { operations, answer };
    } catch (error) {
      if (!isOutcomeUnknown(error)) pass.refund();
      throw asKvRefusal(error);
    }
  }

  private async measured(
    tenant: Uint8Array,
    operations: readonly KvOperation[],
  ): Promise<KvAnswer> {
    const { kv } = this.traffic;
    const labels = operations.map(labelOf);
    const startMs = monotonicMs();
    try {
      const answer = await runKvCall(this.caller(tenant), operations);
      labels.forEach((label, i) => kv.count(label, resultOf(answer, i)));
      return answer;
    } catch (error) {
      for (const label of labels) kv.count(label, 'error');
      throw error;
    } finally {
      kv.observe(labels, monotonicMs() - startMs);
    }
  }

  private caller(tenant: Uint8Array): KvCaller {
    return {
      group: this.groups.ofTenant(tenant),
      tenant,
      options: { deadlineMs: deadlineAfter(this.config.server.stmtTimeoutMs) },
      maxCommandBytes: this.config.planner.entryMaxBytes,
      skewMicros: this.config.raft.maxClockSkewMs * 1000,
    };
  }

  private limits(): KvLimits {
    const { maxOpsPerCall, maxKeysPerCall, maxValueBytes } = this.config.kv;
    return { maxOps: maxOpsPerCall, maxKeys: maxKeysPerCall, maxValueBytes, prefixes: true };
  }

  private sent(body: Uint8Array): Uint8Array {
    this.traffic.bytesOut += body.length;
    return body;
  }
}

function aborted({ answer }: Done): Uint8Array {
  const fields = answer.abort === null ? '' : abortFields(answer.abort, answer.abort.failedIndex);
  return new TextEncoder().encode(`{"ok":false,"reason":"kv_precondition"${fields}}`);
}

function labelOf({ op }: KvOperation): KvOpLabel {
  return op === 'putIfAbsent' ? 'put' : op;
}

/** Of an undone call every operation is rejected. */
function resultOf(answer: KvAnswer, at: number): 'applied' | 'rejected' {
  if (answer.abort !== null) return 'rejected';
  const result = answer.results[at];
  return result?.kind === 'planned' && !result.applied ? 'rejected' : 'applied';
}
