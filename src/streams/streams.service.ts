/** The streams plane over HTTP (state.md §4): register queries, read their state, commit cycles. */
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { QueenError } from '../common/errors.js';
import type { PartitionId } from '../common/ids.js';
import { nameRefusal } from '../common/name-budget.js';
import { utf8Length } from '../common/utf8.js';
import type { UuidMint } from '../common/uuid-v7.js';
import { uuidText } from '../common/uuid-v7.js';
import type { QueenConfig } from '../config/index.js';
import { monotonicMs, QUEEN_CONFIG } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import { bodyBytes } from '../http/fastify-setup.js';
import { implicitDefaults } from '../http/implicit-defaults.js';
import { jsonObjectBody } from '../http/json-body.js';
import { MESSAGE_IDS } from '../http/tokens.js';
import { CommandKind } from '../machine/commands/catalogue.js';
import { encodeRegisterStream, encodeStreamCycle } from '../machine/commands/index.js';
import type { StreamCycleOutcome } from '../machine/commands/index.js';
import type { Tables } from '../machine/tables/tables.js';
import { Groups } from '../raft/index.js';
import type { CallOptions } from '../raft/index.js';
import { findPartition } from '../reads/partition-identity.js';
import { DEFAULT_TENANT, Tenancy } from '../tenancy/tenant.js';
import { rawValues } from './raw-values.js';
import { sinkMessages, sinkPush } from './sink-push.js';
import type { SinkMessage } from './sink-push.js';
import { stateAnswer, stateRequest } from './state-read.js';
import {
  addressed,
  booleanOr,
  cycleAck,
  objects,
  optionalString,
  requiredString,
} from './stream-body.js';
import { stateOps } from './stream-body.js';
import type { Addressed } from './stream-body.js';

const MAX_NAME_BYTES = 447;
const MAX_HASH_BYTES = 1024;
const MAX_PREPARATIONS = 5;

export interface StreamAnswer {
  readonly status: number;
  /** JSON. */
  readonly body: Uint8Array;
}

@Injectable()
export class StreamsService {
  @Inject(MESSAGE_IDS) private readonly mint!: UuidMint;

  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
  ) {}

  async register(request: FastifyRequest): Promise<StreamAnswer> {
    const tenant = this.tenancy.of(request);
    const body = jsonObjectBody(request);
    const command = {
      queryId: this.mint.mint(),
      name: short('name', requiredString(body, 'name')),
      sourceQueue: short('source_queue', requiredString(body, 'source_queue')),
      configHash: short('config_hash', requiredString(body, 'config_hash'), MAX_HASH_BYTES),
      sinkQueue: short('sink_queue', optionalString(body, 'sink_queue') ?? '') || null,
      reset: booleanOr(body, 'reset', false),
      needsGrant: !tenant.every((byte, i) => byte === DEFAULT_TENANT[i]),
    };
    const bytes = encodeRegisterStream(tenant, command);
    const growing = !this.isKnown(tenant, command.name);
    const group = this.groups.ofTenant(tenant);
    const outcome = await group.submit({ bytes, growing }, this.options());
    if (outcome.kind !== CommandKind.RegisterStream) throw new QueenError('retry');
    const { name, configHash: config_hash } = command;
    const { verdict } = outcome;
    if (verdict === 'denied') return denied('streams are not granted to this tenant');
    if (verdict === 'full') return denied('the tenant has as many queries as it may have');
    const query_id = outcome.queryId === null ? '' : uuidText(outcome.queryId);
    if (verdict === 'mismatch') {
      const error = 'config_hash differs from the registered one; reset to replace it';
      return json(409, { success: false, query_id, name, error });
    }
    const fresh = verdict === 'fresh';
    const reset = verdict === 'reset';
    return json(200, { success: true, query_id, name, config_hash, fresh, reset });
  }

  async readState(request: FastifyRequest): Promise<StreamAnswer> {
    const tenant = this.tenancy.of(request);
    const body = jsonObjectBody(request);
    const target = addressed(body);
    const wanted = stateRequest(body);
    const group = this.groups.ofTenant(tenant);
    const options = this.options();
    await group.readBarrier(options);
    const { names, streams } = group.tables;
    const id = names.tenant(tenant);
    const query = id === undefined ? undefined : streams.byId(id, target.queryId);
    const partition = findPartition(group.tables, tenant, target.partition);
    if (query === undefined || partition === undefined) return json(404, { error: 'not found' });
    const place = { ...query, partitionId: group.tables.partitions.id(partition.slot) };
    const view = await group.view();
    const isLate = (): boolean => monotonicMs() > options.deadlineMs;
    try {
      return { status: 200, body: await stateAnswer({ view, place }, wanted, isLate) };
    } finally {
      await view.close();
    }
  }

  async cycle(request: FastifyRequest): Promise<StreamAnswer> {
    const tenant = this.tenancy.of(request);
    const bytes = bodyBytes(request);
    const body = jsonObjectBody(request);
    const target = addressed(body);
    const ack = cycleAck(body);
    const ops = stateOps(objects(body, 'state_ops'), rawValues(bytes, 'state_ops', ['value']));
    const payloads = rawValues(bytes, 'push_items', ['payload', 'data']);
    const messages = sinkMessages(objects(body, 'push_items'), payloads, this.mint);
    if (ops === null)
      return refused('bad_request', 'a state operation is neither upsert nor delete');
    const options = this.options();
    const source = await this.sourceOf(tenant, target, options);
    if (source === undefined) return notFound();
    const { queue, partitionId } = source;
    const tooLong = nameRefusal({ queue, group: ack?.group ?? '' });
    if (tooLong !== undefined) throw new QueenError('name_too_long', tooLong);
    const command = { queryId: target.queryId, partitionId, ack, stateOps: ops };
    const outcome = await this.commit({ tenant, options }, command, messages);
    if (outcome === null) return refused('too_large', 'the cycle is larger than one entry may be');
    return cycleAnswer(outcome, { target, messages, ops: ops.length, queue });
  }

  /** A pop of another node may have told of a partition that this node has not applied yet. */
  private async sourceOf(
    tenant: Uint8Array,
    target: Addressed,
    options: CallOptions,
  ): Promise<Source | undefined> {
    const group = this.groups.ofTenant(tenant);
    const known = foundSource(group.tables, tenant, target);
    if (known !== undefined) return known;
    await group.readBarrier(options);
    return foundSource(group.tables, tenant, target);
  }

  private isKnown(tenant: Uint8Array, name: string): boolean {
    const { names, streams } = this.groups.ofTenant(tenant).tables;
    const id = names.tenant(tenant);
    return id !== undefined && streams.byName(id, name) !== undefined;
  }

  /** Null: it fits no entry. */
  private async commit(
    { tenant, options }: { readonly tenant: Uint8Array; readonly options: CallOptions },
    command: Parameters<typeof encodeStreamCycle>[1],
    messages: readonly SinkMessage[],
  ): Promise<StreamCycleOutcome | null> {
    const group = this.groups.ofTenant(tenant);
    const windowMinSeconds = Math.ceil(this.config.retention.txnWindowMinMs / 1000);
    const limits = { defaults: implicitDefaults(), windowMinSeconds };
    for (let tries = 0; tries < MAX_PREPARATIONS; tries += 1) {
      const push = await sinkPush(messages, { tenant, group, limits }, options);
      const bytes = encodeStreamCycle(tenant, command, push);
      if (bytes.length > this.config.planner.entryMaxBytes) return null;
      const growing = messages.length > 0 || command.stateOps.some(({ value }) => value !== null);
      const outcome = await group.submit({ bytes, growing }, options);
      if (outcome.kind !== CommandKind.StreamCycle) throw new QueenError('retry');
      if (outcome.verdict !== 'reprepare') return outcome;
    }
    throw new QueenError('retry');
  }

  private options(): { readonly deadlineMs: number } {
    return { deadlineMs: deadlineAfter(this.config.server.stmtTimeoutMs) };
  }
}

/** The partition a cycle reads from. */
interface Source {
  readonly queue: string;
  readonly partitionId: PartitionId;
}

function foundSource(
  tables: Tables,
  tenant: Uint8Array,
  { partition }: Addressed,
): Source | undefined {
  const found = findPartition(tables, tenant, partition);
  if (found === undefined) return undefined;
  return { queue: found.queue.name, partitionId: tables.partitions.id(found.slot) };
}

interface CycleScene {
  readonly target: Addressed;
  readonly messages: readonly SinkMessage[];
  readonly ops: number;
  readonly queue: string;
}

function cycleAnswer(outcome: StreamCycleOutcome, scene: CycleScene): StreamAnswer {
  const { verdict, text, ack } = outcome;
  if (verdict === 'no_query' || verdict === 'no_partition') return notFound();
  if (verdict !== 'applied') return refused(verdict, text);
  return json(200, {
    ...{ success: true, query_id: scene.target.queryText, partition_id: scene.target.partition },
    ...{ queueName: scene.queue, state_ops_applied: scene.ops },
    push_results: scene.messages.map(({ queue, id, transactionId }) => ({
      ...{ queueName: queue, messageId: uuidText(id), transactionId, status: 'created' },
    })),
    ack_result:
      ack === null
        ? null
        : { success: true, count: ack.count, lease_released: ack.leaseReleased, dlq: false },
  });
}

function short(field: string, text: string, mostBytes = MAX_NAME_BYTES): string {
  if (utf8Length(text) <= mostBytes) return text;
  throw new QueenError('name_too_long', `${field} may have ${mostBytes} bytes`);
}

function json(status: number, body: object): StreamAnswer {
  return { status, body: Buffer.from(JSON.stringify(body)) };
}

function refused(reason: string, error: string): StreamAnswer {
  return json(200, { success: false, error, reason });
}

function denied(error: string): StreamAnswer {
  return json(403, { success: false, denied: true, error });
}

function notFound(): StreamAnswer {
  return json(404, { success: false, error: 'not found' });
}
