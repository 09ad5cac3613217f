/**
 * Serves a push (messages.md §4): scan, check, prepare, submit, answer per item. Payload bytes are
 * sliced, never parsed; one copy takes them from the body into the command.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { QueenError } from '../common/errors.js';
import type { PushScan } from '../common/json/push-scan.js';
import { PushScanPool } from '../common/json/push-scan.js';
import { PushScanner } from '../common/json/push-scanner.js';
import type { UuidMint } from '../common/uuid-v7.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { sendJsonBytes } from '../http/answers.js';
import { deadlineAfter } from '../http/deadlines.js';
import { bodyBytes } from '../http/fastify-setup.js';
import { implicitDefaults } from '../http/implicit-defaults.js';
import { MESSAGE_IDS } from '../http/tokens.js';
import { Traffic } from '../http/traffic.js';
import type { PushGroupOutcome } from '../machine/commands/catalogue.js';
import { CommandKind } from '../machine/commands/catalogue.js';
import type { PushBatchGroup } from '../machine/commands/push-batch.js';
import { encodePushBatch } from '../machine/commands/push-batch-encoder.js';
import type { CallOptions, Group } from '../raft/index.js';
import { Groups } from '../raft/index.js';
import { Tenancy } from '../tenancy/tenant.js';
import { copyRange, recordCrc } from './checksum.js';
import { planChunks } from './push-chunks.js';
import type { PreparedPush } from './push-preparation.js';
import { preparePush } from './push-preparation.js';
import { PushResult, renderPush } from './push-result.js';

const EMPTY_ANSWER = Buffer.from('[]');

interface PushCall {
  readonly tenant: Uint8Array;
  readonly group: Group;
  readonly options: CallOptions;
  readonly groups: readonly PushBatchGroup[];
}

@Injectable()
export class PushService {
  private readonly scanner = new PushScanner();
  private readonly scans = new PushScanPool();
  @Inject(Traffic) private readonly traffic!: Traffic;

  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
    @Inject(MESSAGE_IDS) private readonly mint: UuidMint,
  ) {}

  async serve(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    this.traffic.pushRequests += 1;
    const deadlineMs = deadlineAfter(this.config.server.defaultTimeoutMs);
    const tenant = this.tenancy.of(request);
    const scan = this.scans.acquire();
    try {
      const refusal = this.scanner.scanBody(bodyBytes(request), scan);
      if (refusal !== undefined) throw new QueenError(refusal.code, refusal.text);
      if (scan.count === 0) {
        sendJsonBytes(reply, 201, EMPTY_ANSWER);
        return;
      }
      const body = await this.push(scan, tenant, { deadlineMs });
      sendJsonBytes(reply, 201, body);
    } finally {
      this.scans.release(scan);
    }
  }

  private async push(
    scan: PushScan,
    tenant: Uint8Array,
    options: CallOptions,
  ): Promise<Uint8Array> {
    const group = this.groups.ofTenant(tenant);
    if (group.status().storageFull) throw new QueenError('storage_full');
    const prepared = preparePush(scan, this.mint, null);
    const call: PushCall = { tenant, group, options, groups: appendGroups(scan, group, tenant) };
    const result = new PushResult(prepared);
    await this.submitAll(prepared, call, result);
    result.resolveRepeats();
    this.traffic.pushMessages += prepared.batch.count;
    return renderPush(scan, prepared.batch, result);
  }

  /** One command as a rule; several only when the request is larger than an entry may be. */
  private async submitAll(
    prepared: PreparedPush,
    call: PushCall,
    result: PushResult,
  ): Promise<void> {
    const chunks = planChunks(prepared.batch, call.groups, this.config.planner.entryMaxBytes);
    await Promise.all(
      chunks.map(async (chunk) => {
        const outcomes = await this.submit(prepared, call, chunk);
        result.take(outcomes, chunk);
      }),
    );
  }

  private async submit(
    prepared: PreparedPush,
    call: PushCall,
    chunk: Int32Array,
  ): Promise<readonly PushGroupOutcome[]> {
    const bytes = encodePushBatch(prepared.batch, call.groups, {
      tenant: call.tenant,
      chunk,
      limits: {
        defaults: implicitDefaults(),
        windowMinSeconds: Math.ceil(this.config.retention.txnWindowMinMs / 1000),
      },
      crc: recordCrc,
      copy: copyRange,
    });
    const outcome = await call.group.submit({ bytes }, call.options);
    if (outcome.kind !== CommandKind.Push) throw new QueenError('retry');
    return outcome.groups;
  }
}

/** One append group per (queue, partition) of the request, numbered as the scan's targets. */
function appendGroups(scan: PushScan, group: Group, tenant: Uint8Array): PushBatchGroup[] {
  const tenantId = group.tables.names.tenant(tenant);
  const groups: PushBatchGroup[] = [];
  for (let target = 0; target < scan.targets.count; target += 1) {
    const queue = scan.queueText(target);
    const row = tenantId === undefined ? undefined : group.tables.queues.find(tenantId, queue);
    groups.push({
      queue,
      partition: scan.partitionText(target),
      optionsVersion: row?.optionsVersion ?? 0,
      encrypted: false,
    });
  }
  return groups;
}
