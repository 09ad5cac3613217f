/** The streams plane over HTTP (state.md §4): register queries, read their state, commit cycles. */
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { QueenError } from '../common/errors.js';
import { timestampText } from '../common/timestamp.js';
import { readUtf8, utf8Length } from '../common/utf8.js';
import type { UuidMint } from '../common/uuid-v7.js';
import { uuidText } from '../common/uuid-v7.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import { bodyBytes } from '../http/fastify-setup.js';
import { implicitDefaults } from '../http/implicit-defaults.js';
import { jsonObjectBody } from '../http/json-body.js';
import type { JsonObject } from '../http/json-body.js';
import { MESSAGE_IDS } from '../http/tokens.js';
import { CommandKind } from '../machine/commands/catalogue.js';
import { encodeRegisterStream, encodeStreamCycle } from '../machine/commands/index.js';
import type { StreamCycleOutcome } from '../machine/commands/index.js';
import { Groups } from '../raft/index.js';
import { findPartition } from '../reads/partition-identity.js';
import { stateRows } from '../reads/stream-state.js';
import type { StateEntry } from '../reads/stream-state.js';
import { DEFAULT_TENANT, Tenancy } from '../tenancy/tenant.js';
import { rawValues } from './raw-values.js';
import { sinkMessages, sinkPush } from './sink-push.js';
import type { SinkMessage } from './sink-push.js';
import { addressed, cycleAck, objects, optionalString, requiredString } from './stream-body.js';
import { stateOps } from './stream-body.js';
import type { Addressed } from './stream-body.js';

const MAX_NAME_BYTES = 447;
const MAX_PREPARATIONS = 5;

export interface StreamAnswer {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
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
      name: shortName(requiredString(body, 'name')),
      sourceQueue: shortName(requiredString(body, 'source_queue')),
      configHash: requiredString(body, 'config_hash'),
      sinkQueue: shortName(optionalString(body, 'sink_queue') ?? '') || null,
      reset: body['reset'] === true,
      needsGrant: !tenant.every((byte, i) => byte === DEFAULT_TENANT[i]),
    };
    const bytes = encodeRegisterStream(tenant, command);
    const outcome = await this.groups.ofTenant(tenant).submit({ bytes }, this.options());
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
    const prefix = optionalString(body, 'key_prefix') ?? '';
    const keep = stateFilter(body);
    const group = this.groups.ofTenant(tenant);
    await group.readBarrier(this.options());
    const { names, streams } = group.tables;
    const id = names.tenant(tenant);
    const query = id === undefined ? undefined : streams.byId(id, target.queryId);
    const partition = findPartition(group.tables, tenant, target.partition);
    if (query === undefined || partition === undefined) return json(404, { error: 'not found' });
    const partitionId = group.tables.partitions.id(partition.slot);
    const view = await group.view();
    try {
      const rows = await stateRows(view, { ...query, partitionId }, { prefix, keep });
      return { status: 200, body: `{"success":true,"rows":[${rows.map(rowText).join(',')}]}` };
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
    const { tables } = this.groups.ofTenant(tenant);
    const partition = findPartition(tables, tenant, target.partition);
    if (partition === undefined) return notFound();
    const partitionId = tables.partitions.id(partition.slot);
    const command = { queryId: target.queryId, partitionId, ack, stateOps: ops };
    const outcome = await this.commit(tenant, command, messages);
    if (outcome === null) return refused('too_large', 'the cycle is larger than one entry may be');
    return cycleAnswer(outcome, { target, messages, ops: ops.length, queue: partition.queue.name });
  }

  /** Null: it fits no entry. */
  private async commit(
    tenant: Uint8Array,
    command: Parameters<typeof encodeStreamCycle>[1],
    messages: readonly SinkMessage[],
  ): Promise<StreamCycleOutcome | null> {
    const group = this.groups.ofTenant(tenant);
    const windowMinSeconds = Math.ceil(this.config.retention.txnWindowMinMs / 1000);
    const limits = { defaults: implicitDefaults(), windowMinSeconds };
    const options = this.options();
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

/** Exact keys and ripe windows, both optional and together. */
function stateFilter(body: JsonObject): (entry: StateEntry) => boolean {
  const list = body['keys'] ?? [];
  if (!Array.isArray(list)) throw new QueenError('bad_request', 'keys must be an array');
  const keys = new Set<unknown>(list);
  const ripe = body['ripe_at_or_before'] ?? null;
  if (ripe !== null && typeof ripe !== 'number') {
    throw new QueenError('bad_request', 'ripe_at_or_before must be a number');
  }
  return (entry) =>
    (keys.size === 0 || keys.has(entry.key)) && (ripe === null || isRipe(entry, ripe));
}

function isRipe({ value }: StateEntry, atMs: number): boolean {
  const parsed = JSON.parse(readUtf8(value, 0, value.length)) as { windowEnd?: unknown } | null;
  const end = parsed?.windowEnd;
  return typeof end === 'number' && end <= atMs;
}

function rowText({ key, value, updatedAt }: StateEntry): string {
  const text = readUtf8(value, 0, value.length);
  return `{"key":${JSON.stringify(key)},"value":${text},"updated_at":"${timestampText(updatedAt)}"}`;
}

function shortName(name: string): string {
  if (utf8Length(name) <= MAX_NAME_BYTES) return name;
  throw new QueenError('name_too_long', `a name may have ${MAX_NAME_BYTES} bytes`);
}

function json(status: number, body: object): StreamAnswer {
  return { status, body: JSON.stringify(body) };
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
