/**
 * Serves transactions (messages.md §8): reads the body, lets the plugs check theirs, resolves acks,
 * prepares pushes and submits one command of all parts. Refusals and rollbacks are answers in the
 * transaction's envelope; what the engine refuses (413, 429, 503, 507) keeps the engine's.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { producerSubOf } from '../auth/identity.js';
import { QueenError } from '../common/errors.js';
import { micros } from '../common/ids.js';
import { nameRefusal } from '../common/name-budget.js';
import type { UuidMint } from '../common/uuid-v7.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { sendJsonBytes } from '../http/answers.js';
import { releaseBody } from '../http/body-pool.js';
import { deadlineAfter } from '../http/deadlines.js';
import { bodyBytes } from '../http/fastify-setup.js';
import { implicitDefaults } from '../http/implicit-defaults.js';
import { MESSAGE_IDS } from '../http/tokens.js';
import { Traffic } from '../http/traffic.js';
import type {
  PlannedOperations,
  TransactionCall,
  TransactionField,
} from '../http/transaction-plugs.js';
import { TransactionPlugs, TransactionRefusal } from '../http/transaction-plugs.js';
import { CommandKind, StartMode } from '../machine/commands/catalogue.js';
import type { TransactionOutcome, TransactionPosition } from '../machine/commands/index.js';
import {
  encodeAcks,
  encodePositions,
  encodeTransaction,
  pushSection,
  sectionOf,
  TransactionSection,
} from '../machine/commands/index.js';
import { DeliveredIds } from '../preparation/delivered-ids.js';
import { leaseKeyOf } from '../preparation/lease-key.js';
import { refusalOf } from '../preparation/push-preparation.js';
import { isRegistrationNew } from '../preparation/start-policy.js';
import type { Group } from '../raft/index.js';
import { Groups } from '../raft/index.js';
import { Tenancy } from '../tenancy/tenant.js';
import { resolveAcks } from './ack-resolution.js';
import type { ResolvedAcks } from './ack-resolution.js';
import type { PositionOperation } from './position-operation.js';
import { PushOperations, tooLarge } from './push-operations.js';
import type { PreparedTransaction } from './transaction-answer.js';
import { renderCommit, renderRefusal, renderRollback } from './transaction-answer.js';
import { placeOfPush, TransactionBodyReader, wrongValue } from './transaction-body.js';
import type { TransactionBody } from './transaction-body.js';

/** Times the command is prepared again when a queue's options changed under it. */
const MAX_PREPARATIONS = 5;

interface Call extends TransactionCall {
  readonly group: Group;
}

@Injectable()
export class TransactionsService {
  private readonly reader = new TransactionBodyReader();
  @Inject(MESSAGE_IDS) private readonly mint!: UuidMint;
  @Inject(Traffic) private readonly traffic!: Traffic;
  @Inject(TransactionPlugs) private readonly plugs!: TransactionPlugs;

  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
    @Inject(DeliveredIds) private readonly delivered: DeliveredIds,
  ) {}

  async serve(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const deadlineMs = deadlineAfter(this.config.server.stmtTimeoutMs);
    const tenant = this.tenancy.of(request);
    const bytes = bodyBytes(request);
    const transactionId = this.mint.mint();
    try {
      const group = this.groups.ofTenant(tenant);
      const call = { request, tenant, deadlineMs, group };
      sendJsonBytes(reply, 200, await this.run(bytes, transactionId, call));
    } catch (error) {
      if (!(error instanceof TransactionRefusal)) throw error;
      const { retryAfterSeconds } = error;
      if (retryAfterSeconds !== null) void reply.header('retry-after', String(retryAfterSeconds));
      sendJsonBytes(reply, error.status, renderRefusal(transactionId, error));
    } finally {
      releaseBody(bytes);
    }
  }

  private async run(bytes: Uint8Array, transactionId: Uint8Array, call: Call): Promise<Uint8Array> {
    const body = this.reader.read(bytes);
    const keyValue = await this.plan('kv', body, call);
    const timers = await this.plan('timers', body, call);
    if (body.wrongValue !== null) throw body.wrongValue;
    this.checkNames(body, call.group);
    const acks = await this.resolve(body, call);
    const pushes = new PushOperations(body.scan, this.pushContext(call));
    const transaction: PreparedTransaction = { body, acks, pushes, keyValue, timers };
    try {
      const { rollback, outcomes } = await this.submit(transaction, call);
      if (rollback !== null) return renderRollback(transactionId, transaction, rollback);
      this.settle(transaction, outcomes, call.tenant);
      await keyValue?.readResults?.(outcomes);
      return renderCommit(transactionId, transaction, outcomes);
    } finally {
      await keyValue?.release?.();
    }
  }

  private async plan(
    field: TransactionField,
    body: TransactionBody,
    call: Call,
  ): Promise<PlannedOperations | null> {
    const json = body.plugged[field];
    if (json === null) return null;
    const plug = this.plugs.find(field);
    if (plug === undefined) throw new QueenError('raft_phase1_unsupported');
    return plug.plan(json, call);
  }

  /** Of pushes the engine's refusals, after a closed disk gate; of positions a rollback. */
  private checkNames(body: TransactionBody, group: Group): void {
    const refusal = refusalOf(body.scan, (item) => placeOfPush(body.operations, item));
    if (refusal !== null) {
      throw group.status().storageFull ? new QueenError('storage_full') : refusal;
    }
    for (const { queue, partition, consumerGroup } of body.positions) {
      const text = nameRefusal({ queue, partition, group: consumerGroup });
      if (text !== undefined) throw wrongValue(text, 'name_too_long');
    }
  }

  private resolve(body: TransactionBody, call: Call): Promise<ResolvedAcks> {
    const { group, tenant, deadlineMs } = call;
    let barrier: Promise<void> | null = null;
    const operations = body.operations.flatMap((one) => (one.type === 'ack' ? [one.ack] : []));
    return resolveAcks(operations, body.requiredLeases, {
      ...{ group, tenant, delivered: this.delivered },
      skewMicros: this.config.raft.maxClockSkewMs * 1000,
      mintId: () => this.mint.mint(),
      barrier: () => (barrier ??= group.readBarrier({ deadlineMs })),
    });
  }

  private pushContext(call: Call) {
    const { group, tenant, request } = call;
    const { txnWindowMinMs } = this.config.retention;
    return {
      ...{ group, tenant, mint: this.mint, producerSub: producerSubOf(request) },
      limits: {
        defaults: implicitDefaults(),
        windowMinSeconds: Math.ceil(txnWindowMinMs / 1000),
      },
      maxBytes: this.config.planner.entryMaxBytes,
    };
  }

  private async submit(transaction: PreparedTransaction, call: Call): Promise<TransactionOutcome> {
    const { pushes, keyValue, timers } = transaction;
    const growing = pushes.count > 0 || keyValue?.growing === true || timers?.growing === true;
    for (let tries = 0; tries < MAX_PREPARATIONS; tries += 1) {
      const bytes = await this.encode(transaction, call);
      if (bytes === null) return NOTHING_TO_DO;
      if (bytes.length > this.config.planner.entryMaxBytes) throw tooLarge();
      const outcome = await call.group.submit(
        { bytes, growing },
        {
          deadlineMs: call.deadlineMs,
          onApplied: (applied) => keyValue?.onApplied?.(applied),
        },
      );
      if (outcome.kind !== CommandKind.Transaction) throw new QueenError('retry');
      if (outcome.rollback?.reason !== 'reprepare') return outcome;
    }
    throw new QueenError('retry');
  }

  /** Null when no part has anything to do. */
  private async encode(
    transaction: PreparedTransaction,
    { tenant, deadlineMs }: Call,
  ): Promise<Uint8Array | null> {
    const { acks, pushes, body, keyValue, timers } = transaction;
    const sections = [];
    if (acks.acks.length > 0) {
      sections.push(sectionOf(TransactionSection.Acks, encodeAcks(acks.acks)));
    }
    if (pushes.count > 0) sections.push(pushSection(await pushes.prepare({ deadlineMs })));
    if (body.positions.length > 0) {
      const positions = body.positions.map((position) => this.positionOf(position));
      sections.push(sectionOf(TransactionSection.Positions, encodePositions(positions)));
    }
    if (keyValue !== null) {
      sections.push(sectionOf(TransactionSection.KeyValue, await keyValue.section()));
    }
    if (timers !== null) {
      sections.push(sectionOf(TransactionSection.Timers, await timers.section()));
    }
    return sections.length === 0 ? null : encodeTransaction(tenant, sections);
  }

  private positionOf(position: PositionOperation): TransactionPosition {
    const { queue, partition, consumerGroup: group, offset, metadata } = position;
    const mode = position.subscriptionMode ?? this.config.server.defaultSubscriptionMode;
    return {
      ...{ queue, partition, group, offset, metadata, instant: micros(0) },
      mode: isRegistrationNew(mode) ? StartMode.New : StartMode.All,
    };
  }

  /** Leases that ended need not be remembered; then the counters. */
  private settle(
    transaction: PreparedTransaction,
    outcomes: TransactionOutcome['outcomes'],
    tenant: Uint8Array,
  ): void {
    const { acks, body } = transaction;
    acks.planned.forEach(({ leaseId, partitionId }, i) => {
      if (outcomes.acks?.[i]?.leaseReleased !== true || leaseId.length === 0) return;
      this.delivered.drop(leaseKeyOf(leaseId), partitionId);
    });
    const { scan } = body;
    this.traffic.pushMessages += scan.count;
    this.traffic.ackMessages += acks.places.length;
    const perQueue = new Uint32Array(scan.queues.count);
    for (let i = 0; i < scan.count; i += 1) {
      const queue = scan.queueOfTarget(scan.targetOf[i] ?? 0);
      perQueue[queue] = (perQueue[queue] ?? 0) + 1;
    }
    perQueue.forEach((messages, queue) => {
      const { counts } = this.traffic.queues.of(tenant, scan.queues.text(queue));
      counts.transactions += 1;
      counts.pushMessages += messages;
    });
  }
}

const NOTHING_TO_DO: TransactionOutcome = {
  kind: CommandKind.Transaction,
  rollback: null,
  outcomes: {},
};
