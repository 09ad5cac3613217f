/**
 * One pass over the entries of a fetch (messages.md §12.1): what each partition holds from its offset on,
 * inside the entry's bytes. The answer as a whole is bounded too: an entry past the bound comes back
 * without records, its watermarks telling that there are some.
 */
import { JsonWriter } from '../common/json/json-writer.js';
import type { QueueId } from '../common/ids.js';
import type { Group, GroupView, StoredMessage } from '../raft/index.js';
import { lastOffsetWithin } from '../reads/append-rows.js';
import { findQueue } from '../reads/partition-identity.js';
import type { FetchEntry } from './fetch-body.js';

const MAX_RECORDS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** What an answer spends on a record besides its payload and id, about. */
const RECORD_BYTES = 96;

export interface FetchedEntry {
  readonly entry: FetchEntry;
  readonly records: readonly StoredMessage[];
  readonly highWatermark: number;
  readonly logStart: number;
  readonly error: 'UNKNOWN_TOPIC_OR_PARTITION' | 'OFFSET_OUT_OF_RANGE' | null;
  /** Null when the queue is missing. */
  readonly queueId: QueueId | null;
}

export interface FetchPass {
  readonly entries: readonly FetchedEntry[];
  readonly payloadBytes: number;
  readonly hasError: boolean;
  /** Nothing more fits, however long one waits. */
  readonly isFull: boolean;
}

export async function fetchOnce(
  group: Group,
  tenant: Uint8Array,
  entries: readonly FetchEntry[],
  maxAnswerBytes = MAX_ANSWER_BYTES,
): Promise<FetchPass> {
  const views = new LazyView(group);
  const fetched: FetchedEntry[] = [];
  let payloadBytes = 0;
  let leftBytes = maxAnswerBytes;
  try {
    for (const entry of entries) {
      const maxBytes = Math.min(entry.maxBytes, leftBytes);
      const one = await fetchEntry(group, views, { tenant, entry, maxBytes });
      for (const { payload, transactionId } of one.records) {
        payloadBytes += payload.length;
        leftBytes -= payload.length + transactionId.length + RECORD_BYTES;
      }
      fetched.push(one);
    }
  } finally {
    await views.close();
  }
  const hasError = fetched.some(({ error }) => error !== null);
  return { entries: fetched, payloadBytes, hasError, isFull: leftBytes <= 0 };
}

/** One view for a pass, opened when the first entry needs rows. */
class LazyView {
  private view: GroupView | null = null;

  constructor(private readonly group: Group) {}

  async open(): Promise<GroupView> {
    this.view ??= await this.group.view();
    return this.view;
  }

  async close(): Promise<void> {
    await this.view?.close();
  }
}

interface Wanted {
  readonly tenant: Uint8Array;
  readonly entry: FetchEntry;
  /** Not above 0: the answer is full. */
  readonly maxBytes: number;
}

async function fetchEntry(group: Group, views: LazyView, wanted: Wanted): Promise<FetchedEntry> {
  const { entry } = wanted;
  const { partitions } = group.tables;
  const queue = findQueue(group.tables, wanted.tenant, entry.queue);
  const nothing = { entry, records: [], highWatermark: 0, logStart: 0, error: null, queueId: null };
  if (queue === undefined) return { ...nothing, error: 'UNKNOWN_TOPIC_OR_PARTITION' };
  const slot = partitions.find(queue.id, entry.partition);
  const queueId = queue.id;
  if (slot < 0) {
    return { ...nothing, queueId, error: entry.offset > 0 ? 'OFFSET_OUT_OF_RANGE' : null };
  }
  const logStart = partitions.logStart(slot);
  const highWatermark = partitions.lastOffset(slot) + 1;
  const place = { ...nothing, queueId, highWatermark, logStart };
  if (entry.offset < logStart || entry.offset > highWatermark) {
    return { ...place, error: 'OFFSET_OUT_OF_RANGE' };
  }
  if (entry.offset === highWatermark || wanted.maxBytes <= 0) return place;
  const partitionId = partitions.id(slot);
  const last = Math.min(highWatermark - 1, entry.offset + MAX_RECORDS - 1);
  const span = { queueId, partitionId, first: entry.offset, last };
  const largest = partitions.maxRecordBytes(slot);
  const fits = (last - entry.offset + 1) * largest <= wanted.maxBytes;
  const end = fits ? last : await lastOffsetWithin(await views.open(), span, wanted.maxBytes);
  const records = await group.readMessages(partitionId, entry.offset, end);
  return { ...place, records };
}

export function renderFetch(pass: FetchPass): Uint8Array {
  const out = new JsonWriter(1024 + pass.payloadBytes + pass.entries.length * 128);
  out.ascii('{"entries":[');
  pass.entries.forEach((fetched, i) => {
    if (i > 0) out.ascii(',');
    writeEntry(out, fetched);
  });
  return out.ascii(']}').view();
}

function writeEntry(out: JsonWriter, fetched: FetchedEntry): void {
  out.ascii('{"queue":').string(fetched.entry.queue);
  out.ascii(',"partition":').string(fetched.entry.partition);
  out.ascii(',"records":[');
  fetched.records.forEach((record, i) => {
    const { transactionId, payload } = record;
    out.ascii(i === 0 ? '{"offset":' : ',{"offset":').integer(record.offset);
    out.ascii(',"transactionId":').utf8(transactionId, 0, transactionId.length);
    out.ascii(',"payload":');
    if (payload.length === 0) out.null();
    else out.fragment(payload);
    out.ascii(',"ts":').timestamp(record.createdAtMicros).ascii('}');
  });
  out.ascii('],"highWatermark":').integer(fetched.highWatermark);
  out.ascii(',"logStartOffset":').integer(fetched.logStart);
  if (fetched.error !== null) out.ascii(',"error":').string(fetched.error);
  out.ascii('}');
}
