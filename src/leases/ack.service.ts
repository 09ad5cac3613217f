/**
 * Serves acks, single and batch (messages.md §6): scan, resolve ids to offsets, one command for all
 * targets, verdict per item. Once parsed the answer is 200, whatever the verdicts.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { QueenError } from '../common/errors.js';
import { AckScan } from '../common/json/ack-scan.js';
import { AckScanner } from '../common/json/ack-scanner.js';
import { nameRefusal } from '../common/name-budget.js';
import type { UuidMint } from '../common/uuid-v7.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { sendJsonBytes } from '../http/answers.js';
import { deadlineAfter } from '../http/deadlines.js';
import { bodyBytes } from '../http/fastify-setup.js';
import { MESSAGE_IDS } from '../http/tokens.js';
import { Traffic } from '../http/traffic.js';
import type { AckTargetOutcome } from '../machine/commands/catalogue.js';
import { CommandKind } from '../machine/commands/catalogue.js';
import { encodeAck } from '../machine/commands/index.js';
import { QUEUE_MODE_GROUP } from '../machine/tables/tables.js';
import type { CallOptions, Group } from '../raft/index.js';
import { Groups } from '../raft/index.js';
import { Tenancy } from '../tenancy/tenant.js';
import type { AckItemVerdict } from './ack-answer.js';
import { failed, itemVerdict, renderAcks } from './ack-answer.js';
import { buildAck } from '../preparation/ack-command.js';
import { countAcks } from './ack-counting.js';
import { ScannedAcks } from './ack-items.js';
import type { PlannedTarget } from '../preparation/ack-plan.js';
import { planAck } from '../preparation/ack-plan.js';
import { DeliveredIds } from '../preparation/delivered-ids.js';
import { leaseKeyOf } from '../preparation/lease-key.js';

/** Scans kept for reuse. */
const MAX_IDLE_SCANS = 64;

interface AckCall {
  readonly tenant: Uint8Array;
  readonly group: Group;
  readonly consumerGroup: string;
  readonly options: CallOptions;
}

@Injectable()
export class AckService {
  private readonly scanner = new AckScanner();
  private readonly idle: AckScan[] = [];
  @Inject(MESSAGE_IDS) private readonly mint!: UuidMint;
  @Inject(Traffic) private readonly traffic!: Traffic;

  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
    @Inject(DeliveredIds) private readonly delivered: DeliveredIds,
  ) {}

  async serve(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    this.traffic.ackRequests += 1;
    const deadlineMs = deadlineAfter(this.config.server.stmtTimeoutMs);
    const tenant = this.tenancy.of(request);
    const scan = this.idle.pop() ?? new AckScan();
    try {
      const refusal = this.scanner.scanBody(bodyBytes(request), scan);
      if (refusal !== undefined) throw new QueenError(refusal.code, refusal.text);
      const consumerGroup = scan.consumerGroup === '' ? QUEUE_MODE_GROUP : scan.consumerGroup;
      const text = nameRefusal({ queue: '', group: consumerGroup });
      if (text !== undefined) throw new QueenError('name_too_long', text);
      const items = new ScannedAcks(scan);
      const group = this.groups.ofTenant(tenant);
      const call: AckCall = { tenant, group, consumerGroup, options: { deadlineMs } };
      const verdicts = await this.acknowledge(items, call);
      sendJsonBytes(reply, 200, renderAcks(items, verdicts));
    } finally {
      scan.clear();
      if (this.idle.length < MAX_IDLE_SCANS) this.idle.push(scan);
    }
  }

  private async acknowledge(items: ScannedAcks, call: AckCall): Promise<AckItemVerdict[]> {
    let barrier: Promise<void> | null = null;
    const targets = await planAck(items, {
      group: call.group,
      tenant: call.tenant,
      consumerGroup: call.consumerGroup,
      delivered: this.delivered,
      barrier: () => (barrier ??= call.group.readBarrier(call.options)),
    });
    const built = buildAck(items, targets, {
      group: call.consumerGroup,
      skewMicros: this.config.raft.maxClockSkewMs * 1000,
      mintId: () => this.mint.mint(),
    });
    const outcomes = new Map<PlannedTarget, AckTargetOutcome>();
    if (built.planned.length > 0) {
      const bytes = encodeAck(call.tenant, built.command);
      const outcome = await call.group.submit({ bytes }, call.options);
      if (outcome.kind !== CommandKind.Ack) throw new QueenError('outcome_unknown');
      built.planned.forEach((target, i) => {
        const own = outcome.targets[i];
        if (own !== undefined) outcomes.set(target, own);
      });
    }
    const verdicts = this.judge(items, targets, outcomes);
    const { tables } = call.group;
    countAcks(this.traffic, { tables, tenant: call.tenant, targets, verdicts });
    return verdicts;
  }

  private judge(
    items: ScannedAcks,
    targets: readonly PlannedTarget[],
    outcomes: ReadonlyMap<PlannedTarget, AckTargetOutcome>,
  ): AckItemVerdict[] {
    const verdicts = new Array<AckItemVerdict>(items.count).fill(failed('', false));
    for (const target of targets) {
      const outcome = outcomes.get(target) ?? null;
      target.items.forEach((item, i) => {
        verdicts[item] = itemVerdict(items, { target, i }, outcome);
      });
      if (outcome?.leaseReleased === true && target.leaseId.length > 0) {
        this.delivered.drop(leaseKeyOf(target.leaseId), target.partitionId);
      }
    }
    return verdicts;
  }
}
