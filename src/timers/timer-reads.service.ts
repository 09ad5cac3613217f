/**
 * Reads of pending timers (state.md §2.6): peek, list, count. All of them wait for the read barrier, so
 * a timer scheduled through any node is seen through every node.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { QueenError } from '../common/errors.js';
import { RecordGoneError } from '../common/record-gone.js';
import { utf8Length } from '../common/utf8.js';
import type { QueenConfig } from '../config/index.js';
import { monotonicMs, QUEEN_CONFIG } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import type { QueryValues } from '../http/query.js';
import { lenientInteger } from '../http/query.js';
import type { TimerName } from '../machine/tables/timer-keys.js';
import { isInline } from '../machine/tables/timer-row.js';
import type { TimerRow } from '../machine/tables/timer-row.js';
import { Groups } from '../raft/index.js';
import type { Group, GroupView, RecordPlace } from '../raft/index.js';
import { clearPayload } from '../reads/clear-payload.js';
import { countTimers, listTimers, readTimer } from '../reads/timers.js';
import { Tenancy } from '../tenancy/tenant.js';
import { timerFields } from './timer-answer.js';
import type { TimerElement } from './timer-answer.js';
import { answering } from './timer-failures.js';
import { badRequest } from './timer-operations.js';

const PAGE = { fallback: 100, min: 1, max: 1000 } as const;
const MAX_PREFIX_BYTES = 128;
const MIN_DEADLINE_MS = 1000;

interface Settled {
  readonly group: Group;
  /** Undefined: the tenant never wrote anything. */
  readonly tenant: number | undefined;
  readonly deadlineMs: number;
}

@Injectable()
export class TimerReadsService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
  ) {}

  peek(request: FastifyRequest, queue: string, timerKey: string): Promise<TimerElement> {
    return answering(async () => {
      const settled = await this.settled(request);
      const { group, tenant } = settled;
      const missing = { found: false, queue, timerKey };
      if (tenant === undefined) return missing;
      const found = await readWhole(group, { tenant, queue, timerKey });
      if (found === undefined) return missing;
      const { row, record } = found;
      const fields = timerFields({ queue, timerKey }, row);
      const payload = Buffer.from(clearPayload(record, group.cipher)).toString('base64');
      return { found: true, ...fields, payload };
    });
  }

  /** A page or a count, as `mode` says. */
  async read(request: FastifyRequest, queue: string): Promise<TimerElement> {
    const query = request.query as QueryValues;
    const mode = query['mode'] ?? '';
    if (mode === '' || mode === 'list') return this.list(request, queue, query);
    if (mode === 'count') return this.count(request, queue, query);
    throw badRequest('timers_read_mode_unknown', 'mode must be list or count');
  }

  private list(request: FastifyRequest, queue: string, query: QueryValues): Promise<TimerElement> {
    const after = query['after'] ?? '';
    const limit = lenientInteger(query, 'limit', PAGE);
    return answering(async () => {
      const { group, tenant } = await this.settled(request);
      if (tenant === undefined) return { rows: [], truncated: false, nextAfter: null };
      const from = { tenant, queue, after };
      const page = await viewing(group, (view) => listTimers(view, from, limit));
      const rows = page.timers.map(({ name, row }) => timerFields(name, row));
      const last = page.timers[page.timers.length - 1];
      const nextAfter = page.truncated && last !== undefined ? last.name.timerKey : null;
      return { rows, truncated: page.truncated, nextAfter };
    });
  }

  private count(request: FastifyRequest, queue: string, query: QueryValues): Promise<TimerElement> {
    const prefix = countedPrefix(query);
    return answering(async () => {
      const { group, tenant, deadlineMs } = await this.settled(request);
      if (tenant === undefined) return { count: 0 };
      const count = await viewing(group, (view) =>
        countTimers(view, { tenant, queue, prefix }, () => monotonicMs() > deadlineMs),
      );
      if (count === undefined) throw new QueenError('timeout');
      return { count };
    });
  }

  private async settled(request: FastifyRequest): Promise<Settled> {
    const uuid = this.tenancy.of(request);
    const group = this.groups.ofTenant(uuid);
    const budgetMs = Math.max(this.config.server.stmtTimeoutMs, MIN_DEADLINE_MS);
    const deadlineMs = deadlineAfter(budgetMs);
    await group.readBarrier({ deadlineMs });
    return { group, tenant: group.tables.names.tenant(uuid), deadlineMs };
  }
}

/** Throws what is wrong with the parameters of a count. */
function countedPrefix(query: QueryValues): string {
  const prefix = query['prefix'] ?? '';
  if (prefix === '') throw badRequest('timers_count_prefix_required', 'prefix is required');
  if (prefix.includes('\0')) {
    throw badRequest('timers_count_prefix_invalid', 'prefix must not contain NUL');
  }
  if (utf8Length(prefix) > MAX_PREFIX_BYTES) {
    throw badRequest('timers_count_prefix_too_long', `prefix may have ${MAX_PREFIX_BYTES} bytes`);
  }
  if (query['after'] === undefined && query['limit'] === undefined) return prefix;
  throw badRequest('timers_count_page_parameters', 'a count takes neither after nor limit');
}

async function viewing<T>(group: Group, read: (view: GroupView) => Promise<T>): Promise<T> {
  const view = await group.view();
  try {
    return await read(view);
  } finally {
    await view.close();
  }
}

/** A timer with its record; one that fires or changes between the two reads is looked up again. */
async function readWhole(
  group: Group,
  name: TimerName,
): Promise<{ readonly row: TimerRow; readonly record: Uint8Array } | undefined> {
  for (let seen: TimerRow | undefined; ;) {
    const row = await viewing(group, (view) => readTimer(view, name));
    if (row === undefined) return undefined;
    if (isInline(row)) return { row, record: row.record };
    try {
      return { row, record: await group.readRecord(row.place) };
    } catch (error) {
      // Still named and gone: no race.
      const isSame = seen !== undefined && samePlace(seen.place, row.place);
      if (!(error instanceof RecordGoneError) || isSame) throw error;
      seen = row;
    }
  }
}

function samePlace(one: RecordPlace, other: RecordPlace): boolean {
  return one.entryIndex === other.entryIndex && one.start === other.start;
}
