/**
 * Lock calls over HTTP (state.md §3.2): parsed before the gate, which is that of the key-value store.
 * What was charged is given back once the outcome is known: what acquires wrote is counted then, and
 * waiting costs no quota.
 */
import { Inject, Injectable } from '@nestjs/common';
import { fitsKvStoreKey } from '../common/kv-names.js';
import { StateRefusal } from '../common/state-refusal.js';
import type { QueenConfig } from '../config/index.js';
import { monotonicMs, QUEEN_CONFIG, systemRandom } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import { asKvRefusal } from '../preparation/kv/kv-call.js';
import { scanOperationsBody } from '../preparation/kv/kv-scan.js';
import { isOutcomeUnknown } from '../preparation/state-failures.js';
import { NO_CHARGE, StateGate } from '../preparation/state-gate.js';
import type { GatePass, OccupancyCharge } from '../preparation/state-gate.js';
import { StateTraffic } from '../preparation/state-traffic.js';
import { Groups } from '../raft/index.js';
import type { LockAnswer } from './lock-answer.js';
import { LockCall } from './lock-call.js';
import type { LockCaller } from './lock-call.js';
import { badLock, MAX_LOCK_OPS, parseLocks } from './lock-operation.js';
import type { LockOperation } from './lock-operation.js';
import { LOCK_NAMESPACE, slotKey } from './lock-row.js';

const READ_PASS: GatePass = { refund: () => undefined };
const TWO_32 = 2 ** 32;

@Injectable()
export class LocksService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(StateGate) private readonly gate: StateGate,
    @Inject(StateTraffic) private readonly traffic: StateTraffic,
  ) {}

  async call(tenant: Uint8Array, body: Uint8Array): Promise<object> {
    const raw = scanOperationsBody(body, MAX_LOCK_OPS);
    if (raw === null) {
      throw badLock('locks_bad_body', 'the body is {"operations":[…]} or an array of operations');
    }
    if (raw.count === 0) return { results: [] };
    const operations = parseLocks(raw);
    const pass = this.enter(tenant, operations);
    try {
      for (const operation of operations) checkSlotKey(operation);
      const answers = await this.measured(tenant, operations);
      pass.refund();
      return { results: answers.map(({ fields }, index) => ({ index, ...fields })) };
    } catch (error) {
      if (!isOutcomeUnknown(error)) pass.refund();
      throw asKvRefusal(error);
    }
  }

  private enter(tenant: Uint8Array, operations: readonly LockOperation[]): GatePass {
    if (operations.some(({ op }) => op !== 'get')) {
      return this.gate.enterWrite(tenant, chargeOf(operations));
    }
    this.gate.enterRead(tenant);
    return READ_PASS;
  }

  private async measured(
    tenant: Uint8Array,
    operations: readonly LockOperation[],
  ): Promise<LockAnswer[]> {
    const { locks } = this.traffic;
    const ops = operations.map(({ op }) => op);
    const startMs = monotonicMs();
    try {
      const answers = await new LockCall(this.caller(tenant), operations).run();
      answers.forEach(({ granted }, i) => {
        const op = ops[i] ?? 'get';
        locks.count(op, granted || op === 'get' ? 'applied' : 'rejected');
      });
      return answers;
    } catch (error) {
      for (const op of ops) locks.count(op, 'error');
      throw error;
    } finally {
      locks.observe(ops, monotonicMs() - startMs);
    }
  }

  private caller(tenant: Uint8Array): LockCaller {
    return {
      kv: {
        group: this.groups.ofTenant(tenant),
        tenant,
        options: { deadlineMs: deadlineAfter(this.config.server.stmtTimeoutMs) },
        maxCommandBytes: this.config.planner.entryMaxBytes,
        skewMicros: this.config.raft.maxClockSkewMs * 1000,
      },
      random: uniform,
    };
  }
}

/** In [0, 1). */
function uniform(): number {
  const bytes = new Uint8Array(4);
  systemRandom.fill(bytes);
  return new DataView(bytes.buffer).getUint32(0) / TWO_32;
}

function checkSlotKey(operation: LockOperation): void {
  const slot =
    operation.op === 'acquire' ? operation.limit - 1 : 'slot' in operation ? operation.slot : 0;
  if (fitsKvStoreKey(LOCK_NAMESPACE, slotKey(operation.name, slot))) return;
  throw new StateRefusal('payload_too_large', { reason: 'kv_key_too_large' });
}

/** An acquire may add a row with its value. */
function chargeOf(operations: readonly LockOperation[]): OccupancyCharge {
  let { rows, bytes } = NO_CHARGE;
  for (const operation of operations) {
    if (operation.op !== 'acquire') continue;
    rows += 1;
    bytes += valueBytes(operation.owner);
  }
  return { rows, bytes, timers: 0 };
}

function valueBytes(owner: string | null): number {
  return Buffer.byteLength(JSON.stringify({ owner }));
}
