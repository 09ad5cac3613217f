/** Writes traces and lists them (messages.md §13); every list is behind a read barrier. */
import { Inject, Injectable } from '@nestjs/common';
import { QueenError } from '../common/errors.js';
import { murmur3x128Into } from '../common/murmur3-128.js';
import { timestampText } from '../common/timestamp.js';
import { encodeUtf8 } from '../common/utf8.js';
import type { UuidMint } from '../common/uuid-v7.js';
import { uuidText } from '../common/uuid-v7.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import type { JsonObject } from '../http/json-body.js';
import type { QueryValues } from '../http/query.js';
import { lenientInteger } from '../http/query.js';
import { MESSAGE_IDS } from '../http/tokens.js';
import { CommandKind } from '../machine/commands/catalogue.js';
import { encodeAppendTrace } from '../machine/commands/index.js';
import type { CallOptions, Group } from '../raft/index.js';
import { Groups } from '../raft/index.js';
import { findPartition } from '../reads/partition-identity.js';
import type { Paged, ShownTrace, TracePage, TraceView } from '../reads/traces.js';
import { traceNames, tracesOfMessage, tracesOfName } from '../reads/traces.js';
import { parseTrace } from './trace-body.js';

const MAX_PAGE = 1000;
const NAMES_PAGE = 100;
const TRACES_PAGE = 200;
/** A page that lies deeper is empty: nobody walks further. */
const MAX_OFFSET = 1_000_000;

export type Written =
  { readonly traceId: string } | { readonly refusal: 'no_transaction_id' | 'no_partition' };

export interface TracePath {
  readonly partitionId: string;
  readonly transactionId: string;
}

@Injectable()
export class TracesService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(MESSAGE_IDS) private readonly mint: UuidMint,
  ) {}

  async write(tenant: Uint8Array, body: JsonObject): Promise<Written> {
    const options = this.options();
    const parsed = parseTrace(body, () => this.mint.mint());
    if (parsed === null) return { refusal: 'no_transaction_id' };
    const group = this.groups.ofTenant(tenant);
    let { event } = parsed;
    if (parsed.partition !== null) {
      const partitionId = await partitionNumber(group, { tenant, text: parsed.partition }, options);
      if (partitionId === null) return { refusal: 'no_partition' };
      event = { ...event, partitionId };
    }
    const bytes = encodeAppendTrace(tenant, { rowId: this.mint.mint(), event });
    const outcome = await group.submit({ bytes, growing: true }, options);
    if (outcome.kind !== CommandKind.AppendTrace) throw new QueenError('retry');
    return outcome.stored ? { traceId: uuidText(event.traceId) } : { refusal: 'no_partition' };
  }

  async names(tenant: Uint8Array, query: QueryValues): Promise<object> {
    const page = pageOf(query, NAMES_PAGE);
    return this.read(tenant, async (view, number) => {
      const { rows, total } = await traceNames(view, number, page);
      const trace_names = rows.map(({ name, traces, messages, lastSeen }) => ({
        trace_name: name,
        trace_count: traces,
        message_count: messages,
        last_seen: timestampText(lastSeen),
      }));
      return { trace_names, total, pagination: page };
    });
  }

  async byName(tenant: Uint8Array, name: string, query: QueryValues): Promise<object> {
    const page = pageOf(query, TRACES_PAGE);
    return this.read(tenant, async (view, number) =>
      listed(await tracesOfName(view, { tenant: number, name }, page), page),
    );
  }

  /** Of a partition that is not there: nothing. */
  async byMessage(tenant: Uint8Array, path: TracePath, query: QueryValues): Promise<object> {
    const page = pageOf(query, TRACES_PAGE);
    const text = encodeUtf8(path.transactionId);
    const hash = new Uint8Array(16);
    murmur3x128Into(text, 0, text.length, hash, 0);
    return this.read(tenant, async (view, number, group) => {
      const found = findPartition(group.tables, tenant, path.partitionId);
      if (found === undefined) return listed({ rows: [], total: 0 }, page);
      const partitionId = group.tables.partitions.id(found.slot);
      return listed(await tracesOfMessage(view, { tenant: number, partitionId, hash }, page), page);
    });
  }

  private options(): CallOptions {
    return { deadlineMs: deadlineAfter(this.config.server.defaultTimeoutMs) };
  }

  private async read(
    tenant: Uint8Array,
    run: (view: TraceView, tenant: number, group: Group) => Promise<object>,
  ): Promise<object> {
    const group = this.groups.ofTenant(tenant);
    await group.readBarrier(this.options());
    const view = await group.view();
    try {
      // A tenant that never wrote anything has no number, and no traces under 0.
      return await run(view, group.tables.names.tenant(tenant) ?? 0, group);
    } finally {
      await view.close();
    }
  }
}

/** By UUID or number; a barrier before it is called unknown. */
async function partitionNumber(
  group: Group,
  named: { readonly tenant: Uint8Array; readonly text: string },
  options: CallOptions,
): Promise<number | null> {
  const { tenant, text } = named;
  let found = findPartition(group.tables, tenant, text);
  if (found === undefined) {
    await group.readBarrier(options);
    found = findPartition(group.tables, tenant, text);
  }
  return found === undefined ? null : group.tables.partitions.id(found.slot);
}

function pageOf(query: QueryValues, fallback: number): TracePage {
  return {
    limit: lenientInteger(query, 'limit', { fallback, min: 1, max: MAX_PAGE }),
    offset: lenientInteger(query, 'offset', { fallback: 0, min: 0, max: MAX_OFFSET }),
  };
}

function listed({ rows, total }: Paged<ShownTrace>, page: TracePage): object {
  const traces = rows.map(shown);
  return { traces, events: traces, total, pagination: page };
}

/** Every field in both spellings. */
function shown({ row, createdAt }: ShownTrace): object {
  const traceId = uuidText(row.traceId);
  const partitionId = row.partitionId === 0 ? null : String(row.partitionId);
  const { messageId, transactionId, consumerGroup, eventType, worker, names } = row;
  const at = timestampText(createdAt);
  return {
    ...{ traceId, trace_id: traceId, partitionId, partition_id: partitionId },
    ...{ messageId, message_id: messageId, transactionId, transaction_id: transactionId },
    ...{ consumerGroup, consumer_group: consumerGroup, eventType, event_type: eventType },
    ...{ data: JSON.parse(row.data) as unknown, worker, worker_id: worker },
    ...{ names, trace_names: names, createdAt: at, created_at: at },
    ...{ queue_name: row.queue === '' ? null : row.queue },
    ...{ partition_name: row.partition === '' ? null : row.partition, message_payload: null },
  };
}
