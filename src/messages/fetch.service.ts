/**
 * Reads by offset (messages.md §12): no lease, no cursor, no barrier; this node's applied state. A fetch
 * may wait for enough bytes; appends to its partitions wake it, and it looks again every second.
 */
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { micros } from '../common/ids.js';
import { timestampText } from '../common/timestamp.js';
import type { QueenConfig } from '../config/index.js';
import { monotonicMs, QUEEN_CONFIG } from '../config/index.js';
import { sendJson, sendJsonBytes } from '../http/answers.js';
import { ClientPresence } from '../http/client-presence.js';
import { jsonObjectBody } from '../http/json-body.js';
import type { Group, GroupView } from '../raft/index.js';
import { Groups } from '../raft/index.js';
import { appendHolding, firstOffsetAtOrAfter } from '../reads/append-rows.js';
import { AppendWaits } from '../reads/append-waits.js';
import { findQueue } from '../reads/partition-identity.js';
import { jsonWith, Slices } from '../reads/slices.js';
import { Tenancy } from '../tenancy/tenant.js';
import { changedPage } from './changed-partitions.js';
import type { FetchBody, OffsetEntry } from './fetch-body.js';
import { parseChanged, parseFetch, parseOffsets } from './fetch-body.js';
import type { FetchPass } from './fetch-read.js';
import { fetchOnce, renderFetch } from './fetch-read.js';

const RECHECK_MS = 1_000;
/** Least time between two reads of one waiting fetch that has something, but not enough. */
const GATHER_MS = 10;
/** Lanes in one answer; past that a page has one. */
const MAX_CHANGED = 100_000;
const UNKNOWN = 'UNKNOWN_TOPIC_OR_PARTITION';

@Injectable()
export class FetchService implements OnModuleDestroy {
  private readonly waits = new Map<Group, AppendWaits>();
  private readonly waiting = new Set<ClientPresence>();
  private draining = false;

  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
  ) {
    for (const group of groups.all()) this.waitsOf(group);
  }

  /** The first step of a graceful stop: nobody waits here any more. */
  onModuleDestroy(): void {
    this.draining = true;
    for (const presence of this.waiting) presence.stopWaiting();
  }

  async fetch(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const tenant = this.tenancy.of(request);
    const body = parseFetch(jsonObjectBody(request));
    const group = this.groups.ofTenant(tenant);
    let pass = await fetchOnce(group, tenant, body.entries);
    if (body.maxWaitMs > 0 && !this.draining && !isEnough(pass, body)) {
      const presence = new ClientPresence(reply);
      this.waiting.add(presence);
      try {
        pass = await this.waitForBytes(group, tenant, { body, pass, presence });
      } finally {
        this.waiting.delete(presence);
      }
    }
    sendJsonBytes(reply, 200, renderFetch(pass));
  }

  async offsets(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const tenant = this.tenancy.of(request);
    const entries = parseOffsets(jsonObjectBody(request));
    const group = this.groups.ofTenant(tenant);
    const view = await group.view();
    try {
      const answers: object[] = [];
      for (const entry of entries) answers.push(await offsetOf(group, view, { tenant, entry }));
      sendJson(reply, 200, { entries: answers });
    } finally {
      await view.close();
    }
  }

  async changed(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const tenant = this.tenancy.of(request);
    const entries = parseChanged(jsonObjectBody(request));
    const group = this.groups.ofTenant(tenant);
    // Before the walk: what is appended while it runs is stamped later than this.
    const safeTime = timestampText(this.waitsOf(group).safeMicros);
    const walk = { tables: group.tables, slices: new Slices() };
    // Rendered one by one: 100,000 lanes at once would hold the loop.
    const pages: string[] = [];
    let left = MAX_CHANGED;
    for (const entry of entries) {
      const queue = findQueue(group.tables, tenant, entry.queue);
      if (queue === undefined) {
        pages.push(JSON.stringify({ queue: entry.queue, error: UNKNOWN }));
        continue;
      }
      const limit = Math.min(entry.limit, Math.max(left, 1));
      const page = await changedPage(walk, queue, { ...entry, limit });
      if ('partitions' in page) left -= page.partitions.length;
      pages.push(JSON.stringify(page));
      if (walk.slices.isSpent()) await walk.slices.pause();
    }
    const bytes = await jsonWith(
      { safeTime, safeTimeDegraded: false },
      { name: 'entries', brackets: '[]', rows: pages, text: (page) => page },
      walk.slices,
    );
    sendJsonBytes(reply, 200, bytes);
  }

  private async waitForBytes(
    group: Group,
    tenant: Uint8Array,
    call: {
      readonly body: FetchBody;
      readonly pass: FetchPass;
      readonly presence: ClientPresence;
    },
  ): Promise<FetchPass> {
    const { body, presence } = call;
    const signal = presence.waitSignal();
    const endMs = monotonicMs() + body.maxWaitMs;
    let { pass } = call;
    for (;;) {
      const leftMs = endMs - monotonicMs();
      if (isEnough(pass, body) || leftMs <= 0 || signal.aborted) return pass;
      const partitions = pass.entries.map(({ entry, queueId }) => ({
        ...{ queueId: queueId ?? 0, partition: entry.partition },
      }));
      const ms = Math.min(leftMs, RECHECK_MS);
      await this.waitsOf(group).wait(partitions, { ms, signal });
      if (pass.payloadBytes > 0) await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      pass = await fetchOnce(group, tenant, body.entries);
    }
  }

  private waitsOf(group: Group): AppendWaits {
    let waits = this.waits.get(group);
    if (waits === undefined) {
      waits = new AppendWaits(group, this.config.raft.maxClockSkewMs * 1000);
      this.waits.set(group, waits);
    }
    return waits;
  }
}

function isEnough(pass: FetchPass, body: FetchBody): boolean {
  return pass.hasError || pass.isFull || pass.payloadBytes >= body.minBytes;
}

async function offsetOf(
  group: Group,
  view: GroupView,
  asked: { readonly tenant: Uint8Array; readonly entry: OffsetEntry },
): Promise<object> {
  const { queue: name, partition, instantMicros } = asked.entry;
  const { partitions } = group.tables;
  const queue = findQueue(group.tables, asked.tenant, name);
  const slot = queue === undefined ? -1 : partitions.find(queue.id, partition);
  const answer = {
    ...{ queue: name, partition, offset: null as number | null, ts: null as string | null },
    highWatermark: slot < 0 ? 0 : partitions.lastOffset(slot) + 1,
    logStartOffset: slot < 0 ? 0 : partitions.logStart(slot),
  };
  if (queue === undefined) return { ...answer, error: UNKNOWN };
  if (slot < 0 || answer.highWatermark <= answer.logStartOffset) return answer;
  const span = {
    ...{ queueId: queue.id, partitionId: partitions.id(slot) },
    ...{ first: answer.logStartOffset, last: answer.highWatermark - 1 },
  };
  const offset = await firstOffsetAtOrAfter(view, span, micros(Math.max(instantMicros, 0)));
  const append = offset > span.last ? null : await appendHolding(view, span, offset);
  if (append === null) return answer;
  return { ...answer, offset, ts: timestampText(append.row.createdAt) };
}
