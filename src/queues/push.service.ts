/**
 * Serves a push (messages.md §4): scan, check, prepare, submit, answer per item. Payload bytes are
 * sliced, never parsed; one copy takes them from the body into the command.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { producerSubOf } from '../auth/identity.js';
import { QueenError } from '../common/errors.js';
import type { PushScan } from '../common/json/push-scan.js';
import { PushScanner } from '../common/json/push-scanner.js';
import type { UuidMint } from '../common/uuid-v7.js';
import type { QueenConfig } from '../config/index.js';
import { monotonicMs, QUEEN_CONFIG } from '../config/index.js';
import { sendJsonBytes } from '../http/answers.js';
import { releaseBody } from '../http/body-pool.js';
import { deadlineAfter } from '../http/deadlines.js';
import { bodyBytes } from '../http/fastify-setup.js';
import { implicitDefaults } from '../http/implicit-defaults.js';
import { MESSAGE_IDS } from '../http/tokens.js';
import type { QueueTraffic } from '../http/queue-traffic.js';
import { Traffic } from '../http/traffic.js';
import type { PushCommandLimits } from '../machine/commands/catalogue.js';
import { CommandKind } from '../machine/commands/catalogue.js';
import type { PushBatchGroup } from '../machine/commands/push-batch.js';
import type { PushEncoding, PushGroupSize } from '../machine/commands/push-batch-encoder.js';
import { encodePushBatch, measurePushBatch } from '../machine/commands/push-batch-encoder.js';
import type { CallOptions, Group } from '../raft/index.js';
import { Groups } from '../raft/index.js';
import { Tenancy } from '../tenancy/tenant.js';
import { appendGroups } from '../preparation/append-groups.js';
import { copyRange, recordCrc } from '../preparation/checksum.js';
import { planChunks } from './push-chunks.js';
import { sealPayloads } from '../preparation/payload-sealing.js';
import { prepareBatch, refusalOf } from '../preparation/push-preparation.js';
import { type PushWork, PushWorkPool } from './push-work.js';

const EMPTY_ANSWER = Buffer.from('[]');
const SECOND_MS = 1000;
/** Times groups are prepared again when options change under a request. */
const MAX_PREPARATIONS = 5;

interface PushCall {
  readonly tenant: Uint8Array;
  readonly group: Group;
  readonly options: CallOptions;
  readonly groups: readonly PushBatchGroup[];
  readonly producerSub: Uint8Array | null;
  /** When the request was taken up, ms. */
  readonly startMs: number;
  /** Groups that were prepared for other options: nothing of them is written yet. */
  readonly stale: Set<number>;
}

/** One command of the request. */
type CommandPart = Pick<PushEncoding, 'sizes' | 'chunk' | 'allocate'>;

const newBytes = (bytes: number): Uint8Array => new Uint8Array(bytes);

@Injectable()
export class PushService {
  private readonly scanner = new PushScanner();
  private readonly works = new PushWorkPool();
  private readonly limits: PushCommandLimits;
  @Inject(Traffic) private readonly traffic!: Traffic;

  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
    @Inject(MESSAGE_IDS) private readonly mint: UuidMint,
  ) {
    const { txnWindowMinMs } = config.retention;
    this.limits = {
      defaults: implicitDefaults(),
      windowMinSeconds: Math.ceil(txnWindowMinMs / SECOND_MS),
    };
  }

  async serve(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    this.traffic.pushRequests += 1;
    const startMs = monotonicMs();
    const options = { deadlineMs: deadlineAfter(this.config.server.defaultTimeoutMs) };
    const tenant = this.tenancy.of(request);
    const work = this.works.acquire();
    const body = bodyBytes(request);
    try {
      const { scan } = work;
      const refusal = this.scanner.scanBody(body, scan);
      if (refusal !== undefined) throw new QueenError(refusal.code, refusal.text);
      if (scan.count === 0) {
        sendJsonBytes(reply, 201, EMPTY_ANSWER);
        return;
      }
      const group = this.groups.ofTenant(tenant);
      checkItems(scan, group);
      const groups = appendGroups(scan, group, tenant);
      const producerSub = producerSubOf(request);
      const stale = new Set<number>();
      const call = { tenant, group, options, groups, producerSub, stale, startMs };
      sendJsonBytes(reply, 201, await this.push(work, call));
      const endMs = monotonicMs();
      this.traffic.stages.pushTotal.observe((endMs - startMs) * 1000, endMs);
    } finally {
      this.works.release(work);
      releaseBody(body);
    }
  }

  /** Submits and renders. One command as a rule, several only when the request is too large for one. */
  private async push(work: PushWork, call: PushCall): Promise<Uint8Array> {
    const { scan, batch, result } = work;
    const firstOf = prepareBatch(scan, this.mint, work, call.producerSub);
    result.begin(batch);
    await sealPayloads(scan, batch, call);
    const sizes = measurePushBatch(batch, call.groups);
    const chunks = planChunks(sizes, this.config.planner.entryMaxBytes);
    const preparedMs = monotonicMs();
    this.traffic.stages.pushPrep.observe((preparedMs - call.startMs) * 1000, preparedMs);
    const [only] = chunks;
    if (chunks.length === 1 && only !== undefined) {
      await this.submitOnly(work, call, { sizes, chunk: only });
    } else await this.submitAll(work, call, { sizes, chunks });
    if (call.stale.size > 0) await this.prepareAgain(work, call);
    result.resolveRepeats(firstOf);
    this.traffic.pushMessages += batch.count;
    countByQueue(scan, call.tenant, this.traffic.queues);
    return work.render(scan, call.groups);
  }

  /** Prepares groups again whose queue turned to encryption, or away from it, under the request. */
  private async prepareAgain(work: PushWork, call: PushCall): Promise<void> {
    const { scan, batch } = work;
    for (let tries = 0; call.stale.size > 0; tries += 1) {
      if (tries === MAX_PREPARATIONS) throw new QueenError('retry');
      const groups = appendGroups(scan, call.group, call.tenant);
      const again = { ...call, groups, stale: new Set<number>() };
      await sealPayloads(scan, batch, again);
      const sizes = measurePushBatch(batch, groups);
      sizes.forEach((size, number) => {
        if (!call.stale.has(number)) size.messages = 0;
      });
      const chunks = planChunks(sizes, this.config.planner.entryMaxBytes);
      await this.submitAll(work, again, { sizes, chunks });
      call.stale.clear();
      for (const number of again.stale) call.stale.add(number);
    }
  }

  /** The command lies in the work's memory where the group lets go of it with the outcome. */
  private async submitOnly(
    work: PushWork,
    call: PushCall,
    part: { readonly sizes: readonly PushGroupSize[]; readonly chunk: Int32Array },
  ): Promise<void> {
    if (call.group.keepsCommands) {
      await this.submit(work, call, { ...part, allocate: newBytes });
      return;
    }
    try {
      await this.submit(work, call, { ...part, allocate: (bytes) => work.commandMemory(bytes) });
    } catch (error) {
      work.loseCommandMemory();
      throw error;
    }
  }

  /** Waits for every chunk, also when one fails: they all write to the work, which is reused after. */
  private async submitAll(
    work: PushWork,
    call: PushCall,
    parts: { readonly sizes: readonly PushGroupSize[]; readonly chunks: readonly Int32Array[] },
  ): Promise<void> {
    const { sizes } = parts;
    const submits = parts.chunks.map((chunk) =>
      this.submit(work, call, { sizes, chunk, allocate: newBytes }),
    );
    for (const settled of await Promise.allSettled(submits)) {
      if (settled.status === 'rejected') throw settled.reason;
    }
  }

  private async submit(work: PushWork, call: PushCall, part: CommandPart): Promise<void> {
    const beginMs = monotonicMs();
    const bytes = encodePushBatch(work.batch, call.groups, {
      ...part,
      tenant: call.tenant,
      limits: this.limits,
      crc: recordCrc,
      copy: copyRange,
    });
    const submitted = call.group.submit({ bytes }, call.options);
    const inMs = monotonicMs();
    this.traffic.stages.pushSubmit.observe((inMs - beginMs) * 1000, inMs);
    const outcome = await submitted;
    const outMs = monotonicMs();
    this.traffic.stages.pushAwait.observe((outMs - inMs) * 1000, outMs);
    if (outcome.kind !== CommandKind.Push) throw new QueenError('retry');
    work.result.take(outcome.groups, part.chunk);
    part.chunk.forEach((at, number) => {
      if (at >= 0 && outcome.groups[at]?.verdict === 'reprepare') call.stale.add(number);
    });
  }
}

/** Refuses the whole request. A closed disk gate comes first, like in the order of §4.2. */
function checkItems(scan: PushScan, group: Group): void {
  const refusal = refusalOf(scan);
  if (refusal === null) return;
  throw group.status().storageFull ? new QueenError('storage_full') : refusal;
}

function countByQueue(scan: PushScan, tenant: Uint8Array, traffic: QueueTraffic): void {
  const { queues, count } = scan;
  const perQueue = new Uint32Array(queues.count);
  if (queues.count === 1) perQueue[0] = count;
  for (let i = 0; queues.count > 1 && i < count; i += 1) {
    const queue = scan.queueOfTarget(scan.targetOf[i] ?? 0);
    perQueue[queue] = (perQueue[queue] ?? 0) + 1;
  }
  for (let queue = 0; queue < queues.count; queue += 1) {
    const { counts } = traffic.of(tenant, queues.text(queue));
    counts.pushRequests += 1;
    counts.pushMessages += perQueue[queue] ?? 0;
  }
}
