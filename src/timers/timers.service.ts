/**
 * Scheduling and cancelling timers over HTTP (state.md §2.2, §2.4). Edge checks, then the gate ladder
 * (never for a call that only cancels), then the rest of validation; a call is one command and one log
 * entry, all or nothing.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { producerSubOf } from '../auth/identity.js';
import { QueenError } from '../common/errors.js';
import { StateRefusal } from '../common/state-refusal.js';
import type { UuidMint } from '../common/uuid-v7.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import { implicitDefaults } from '../http/implicit-defaults.js';
import { MESSAGE_IDS } from '../http/tokens.js';
import type { PushCommandLimits } from '../machine/commands/catalogue.js';
import { CommandKind } from '../machine/commands/catalogue.js';
import { encodeTimers, QuotaKind } from '../machine/commands/index.js';
import type { TimerResult } from '../machine/commands/index.js';
import { isOutcomeUnknown } from '../preparation/state-failures.js';
import { StateGate } from '../preparation/state-gate.js';
import type { GatePass } from '../preparation/state-gate.js';
import { StateTraffic } from '../preparation/state-traffic.js';
import { Groups } from '../raft/index.js';
import type { CallOptions } from '../raft/index.js';
import { Tenancy } from '../tenancy/tenant.js';
import { resultElement } from './timer-answer.js';
import type { TimerElement } from './timer-answer.js';
import { checkNames, checkSize, commandOps, foreignEncryption, mintIds } from './timer-command.js';
import type { CommandScene, MintedOperation } from './timer-command.js';
import { answering, outcomeLost } from './timer-failures.js';
import { badRequest, checkEdge, readOperations } from './timer-operations.js';
import type { EdgeLimits, EdgeOperation, TimerOperation } from './timer-operations.js';

const MIN_DEADLINE_MS = 1000;
const MS_PER_SECOND = 1000;
/** Times a call is prepared again when a queue's encryption changed under it. */
const MAX_PREPARATIONS = 5;
const HINT_HEADER = 'x-queen-timers-hint';
const HINT = 'cancels alone are never refused: DELETE /api/v1/timers/{queue}/{timerKey}';

@Injectable()
export class TimersService {
  private readonly limits: PushCommandLimits;
  @Inject(Tenancy) private readonly tenancy!: Tenancy;
  @Inject(MESSAGE_IDS) private readonly mint!: UuidMint;
  @Inject(StateTraffic) private readonly traffic!: StateTraffic;

  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(StateGate) private readonly gate: StateGate,
  ) {
    this.limits = {
      defaults: implicitDefaults(),
      windowMinSeconds: Math.ceil(config.retention.txnWindowMinMs / MS_PER_SECOND),
    };
    gate.measureTimers((tables, tenant) => tables.timers.count(tables.names.tenant(tenant)));
  }

  /** One element per operation, in order. */
  async batch(
    request: FastifyRequest,
    reply: FastifyReply,
    operations: readonly unknown[],
  ): Promise<TimerElement[]> {
    if (operations.length === 0) return [];
    const options = { deadlineMs: this.deadline() };
    const scene = this.sceneOf(request);
    return answering(() => this.run(scene, { operations, options, reply })).catch(
      (error: unknown) => {
        this.noteRefusal(error);
        throw error;
      },
    );
  }

  /** Never refused by switch, grant, quota or rate. */
  async cancel(
    request: FastifyRequest,
    timer: { readonly queue: string; readonly timerKey: string; readonly txn: string | null },
  ): Promise<TimerElement> {
    const scene = this.sceneOf(request);
    const operation: TimerOperation = { op: 'cancel', ...timer };
    const options = { deadlineMs: this.deadline() };
    return answering(async () => {
      checkNames([operation]);
      const [element] = await this.submit([{ operation, messageId: null }], scene, options);
      if (element === undefined) throw outcomeLost();
      return element;
    });
  }

  private async run(
    scene: CommandScene,
    call: {
      readonly operations: readonly unknown[];
      readonly options: CallOptions;
      readonly reply: FastifyReply;
    },
  ): Promise<TimerElement[]> {
    const { timersMaxOpsPerCall } = this.config.kv;
    if (call.operations.length > timersMaxOpsPerCall) {
      throw badRequest('timers_too_many_ops', `a call takes ${timersMaxOpsPerCall} operations`);
    }
    const limits = this.edgeLimits(scene.tenant);
    const edge = checkEdge(call.operations, limits);
    const pass = this.enter(scene.tenant, edge, call.reply);
    try {
      if (pass !== null && scene.group.status().storageFull) throw new QueenError('storage_full');
      const operations = readOperations(edge, limits);
      this.checkOperations(operations, scene);
      const elements = await this.submit(mintIds(operations, this.mint), scene, call.options);
      pass?.refund();
      return elements;
    } catch (error) {
      if (!isOutcomeUnknown(error)) pass?.refund();
      throw error;
    }
  }

  /** The ladder, for calls that schedule; a mixed call is refused whole, with a hint. */
  private enter(
    tenant: Uint8Array,
    edge: readonly EdgeOperation[],
    reply: FastifyReply,
  ): GatePass | null {
    const schedules = edge.filter((one) => one.schedules).length;
    if (schedules === 0) return null;
    try {
      return this.gate.enterTimers(tenant, schedules);
    } catch (error) {
      if (schedules < edge.length) void reply.header(HINT_HEADER, HINT);
      throw error;
    }
  }

  private checkOperations(operations: readonly TimerOperation[], scene: CommandScene): void {
    checkNames(operations);
    const foreign = foreignEncryption(operations, scene);
    if (foreign < 0) return;
    throw badRequest(`operations[${foreign}].encrypted: the broker encrypts this queue's payloads`);
  }

  private async submit(
    minted: readonly MintedOperation[],
    scene: CommandScene,
    options: CallOptions,
  ): Promise<TimerElement[]> {
    const growing = minted.some(({ messageId }) => messageId !== null);
    for (let tries = 0; tries < MAX_PREPARATIONS; tries += 1) {
      const bytes = encodeTimers(scene.tenant, await commandOps(minted, scene, options));
      checkSize(bytes, this.config.planner.entryMaxBytes);
      const outcome = await scene.group.submit({ bytes, growing }, options);
      if (outcome.kind !== CommandKind.Timers) throw outcomeLost();
      if (outcome.verdict === 'applied') return elements(minted, outcome.results);
    }
    throw outcomeLost();
  }

  private sceneOf(request: FastifyRequest): CommandScene {
    const tenant = this.tenancy.of(request);
    const group = this.groups.ofTenant(tenant);
    return { tenant, group, limits: this.limits, producerSub: producerSubOf(request) };
  }

  /** The tighter of the node's horizon and the tenant's. */
  private edgeLimits(tenant: Uint8Array): EdgeLimits {
    const { timersMaxPayloadBytes, timersMaxHorizonMs } = this.config.kv;
    const { controls } = this.groups.ofTenant(tenant).tables;
    const own = controls.quota(QuotaKind.Kv, tenant)?.limits.maxTimerHorizonSeconds ?? Infinity;
    return {
      maxPayloadBytes: timersMaxPayloadBytes,
      maxHorizonSeconds: Math.min(timersMaxHorizonMs / MS_PER_SECOND, own),
    };
  }

  private deadline(): number {
    return deadlineAfter(Math.max(this.config.server.stmtTimeoutMs, MIN_DEADLINE_MS));
  }

  /** The gate counts its own refusals. */
  private noteRefusal(error: unknown): void {
    const reason = error instanceof StateRefusal ? REJECTIONS[error.code] : undefined;
    if (reason !== undefined) this.traffic.timerRejected(reason);
  }
}

const REJECTIONS: Readonly<Record<string, string>> = {
  timers_bad_request: 'shape',
  payload_too_large: 'payload_too_large',
  timer_horizon_exceeded: 'horizon',
  timers_unavailable: 'unavailable',
};

function elements(
  minted: readonly MintedOperation[],
  results: readonly TimerResult[],
): TimerElement[] {
  return minted.map((one, i) => {
    const result = results[i];
    if (result === undefined) throw outcomeLost();
    return resultElement(one, result);
  });
}
