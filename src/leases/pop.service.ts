/**
 * Serves a pop: registers the group when it must be, waits at the dispatcher, reads the granted bytes
 * and answers. A grant whose answer cannot be delivered is handed back, so no attempt is burnt. When
 * the process stops, pops that wait are answered empty at once.
 */
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { QueenError } from '../common/errors.js';
import { nameRefusal } from '../common/name-budget.js';
import type { QueenConfig } from '../config/index.js';
import { monotonicMs, QUEEN_CONFIG } from '../config/index.js';
import { sendEmpty, sendJson, sendJsonBytes } from '../http/answers.js';
import { ClientPresence } from '../http/client-presence.js';
import { deadlineAfter } from '../http/deadlines.js';
import type { QueryValues } from '../http/query.js';
import { Traffic } from '../http/traffic.js';
import type { GrantOutcome, GrantedRange } from '../machine/commands/catalogue.js';
import { QUEUE_MODE_GROUP } from '../machine/tables/tables.js';
import type { CallOptions, Group, PopAnswer, PopRequest, StoredMessage } from '../raft/index.js';
import { Groups } from '../raft/index.js';
import { Tenancy } from '../tenancy/tenant.js';
import { DeliveredIds } from '../preparation/delivered-ids.js';
import { leaseKeyOf } from '../preparation/lease-key.js';
import type { DeliveredBatch } from './pop-answer.js';
import { countDelivered, countEmpty, parkedAt } from './pop-counting.js';
import { renderEmptyPop, renderPop } from './pop-answer.js';
import { parsePop, popRefusal } from './pop-params.js';
import type { ParsedPop } from './pop-params.js';
import { registerPop } from './pop-registration.js';

type PopPath = Pick<PopRequest, 'scope' | 'queue' | 'partition'>;

/** Who asked: where the answer goes and whether it still can. */
interface Client {
  readonly reply: FastifyReply;
  readonly presence: ClientPresence;
}

const EMPTY: PopAnswer = {
  grant: null,
  conflation: false,
  conflationConflict: false,
  autopilot: null,
};

@Injectable()
export class PopService implements OnModuleDestroy {
  private readonly waiting = new Set<ClientPresence>();
  private draining = false;
  @Inject(Traffic) private readonly traffic!: Traffic;

  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
    @Inject(DeliveredIds) private readonly delivered: DeliveredIds,
  ) {}

  /** Pops of this node's clients that wait for a message now. */
  get parked(): number {
    return this.waiting.size;
  }

  /** The first step of a graceful stop: nobody waits here any more. */
  onModuleDestroy(): void {
    this.draining = true;
    for (const presence of this.waiting) presence.stopWaiting();
  }

  async serve(path: PopPath, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    this.traffic.popRequests += 1;
    const tenant = this.tenancy.of(request);
    const parsed = parsePop({ tenant, ...path }, request.query as QueryValues, {
      timeoutMs: this.config.server.defaultTimeoutMs,
      subscriptionMode: this.config.server.defaultSubscriptionMode,
    });
    const refusal = popRefusal(parsed.request);
    if (refusal !== null) {
      sendJson(reply, 400, { success: false, error: refusal, messages: [] });
      return;
    }
    checkNames(parsed.request);
    // HEAD is safe by definition: it must not take messages that its answer cannot carry.
    if (request.method === 'HEAD') {
      sendEmpty(reply);
      return;
    }
    const { stages } = this.traffic;
    if (parsed.request.scope === 'discovery') stages.popWildcard += 1;
    else stages.popTargeted += 1;
    const startMs = monotonicMs();
    await this.answer(parsed, tenant, { reply, presence: new ClientPresence(reply) });
    const endMs = monotonicMs();
    stages.popTotal.observe((endMs - startMs) * 1000, endMs);
  }

  private async answer(parsed: ParsedPop, tenant: Uint8Array, client: Client): Promise<void> {
    const { reply } = client;
    const group = this.groups.ofTenant(tenant);
    const answer = await this.take(parsed, group, client.presence);
    if (answer.grant === null) {
      countEmpty(this.traffic, parsed.request);
      if (this.draining) void reply.header('connection', 'close');
      sendNothing(reply, parsed.request, answer);
      return;
    }
    await this.deliver(parsed.request, { group, answer, grant: answer.grant }, client);
  }

  /** Registers and waits. Past the deadline, and when the process stops, nothing was found. */
  private async take(parsed: ParsedPop, group: Group, who: ClientPresence): Promise<PopAnswer> {
    if (this.draining) return EMPTY;
    const { wait } = parsed.request;
    const options: CallOptions = {
      deadlineMs: deadlineAfter(parsed.timeoutMs),
      ...(wait ? { signal: who.waitSignal() } : {}),
    };
    const counted = wait ? parkedAt(this.traffic, parsed.request) : null;
    if (wait) this.waiting.add(who);
    if (counted !== null) counted.parkedNow += 1;
    const startMs = monotonicMs();
    try {
      await registerPop(parsed.request, group, options);
      return await group.pop(parsed.request, options);
    } catch (error) {
      if (this.draining || who.isGone) return EMPTY;
      if (error instanceof QueenError && error.code === 'timeout') return EMPTY;
      throw error;
    } finally {
      if (wait) {
        this.waiting.delete(who);
        this.traffic.stages.popWaits += 1;
        this.traffic.stages.popWaitMicros += (monotonicMs() - startMs) * 1000;
      }
      if (counted !== null) counted.parkedNow -= 1;
    }
  }

  private async deliver(
    request: PopRequest,
    from: { readonly group: Group; readonly answer: PopAnswer; readonly grant: GrantOutcome },
    client: Client,
  ): Promise<void> {
    const { group, answer, grant } = from;
    const { presence, reply } = client;
    const handBack = (): void => group.handBack(grant);
    try {
      const startMs = monotonicMs();
      const batches = presence.isGone ? [] : await readGrant(group, grant);
      const readMs = monotonicMs();
      this.traffic.stages.popRead.observe((readMs - startMs) * 1000, readMs);
      if (presence.isGone || batches.length === 0) {
        // Nobody listens, or the queue was deleted since: there is nothing to deliver.
        handBack();
        sendNothing(reply, request, answer);
        return;
      }
      const body = renderPop(request, answer, batches);
      presence.whenLost(handBack);
      if (!grant.commitOnDelivery) this.remember(grant, batches);
      countDelivered(this.traffic, request.tenant, { group, batches });
      sendJsonBytes(reply, 200, body);
    } catch (error) {
      handBack();
      throw error;
    }
  }

  private remember(grant: GrantOutcome, batches: readonly DeliveredBatch[]): void {
    const key = leaseKeyOf(grant.leaseId);
    for (const { range, messages } of batches) {
      const first = messages[0];
      if (first === undefined) continue;
      const hashes = new Uint8Array(messages.length * 16);
      const bases = new Float64Array(messages.length);
      messages.forEach((message, i) => {
        hashes.set(message.hash, i * 16);
        bases[i] = message.baseOffset;
      });
      this.delivered.remember(key, range.partitionId, { first: first.offset, hashes, bases });
    }
  }
}

function checkNames(request: PopRequest): void {
  if (request.scope !== 'discovery' && request.queue === '') {
    throw new QueenError('bad_request', 'queue must not be empty');
  }
  const text = nameRefusal({
    queue: request.queue,
    partition: request.partition,
    group: request.group === QUEUE_MODE_GROUP ? '' : request.group,
  });
  if (text !== undefined) throw new QueenError('name_too_long', text);
}

/** The granted messages; ranges whose partition is gone are left out. */
async function readGrant(group: Group, grant: GrantOutcome): Promise<DeliveredBatch[]> {
  const [only] = grant.ranges;
  const batches =
    grant.ranges.length === 1 && only !== undefined
      ? [await readBatch(group, only)]
      : await Promise.all(grant.ranges.map((range) => readBatch(group, range)));
  return batches.filter(({ messages }) => messages.length > 0);
}

async function readBatch(group: Group, range: GrantedRange): Promise<DeliveredBatch> {
  const { partitions } = group.tables;
  const slot = partitions.byId(range.partitionId);
  const partition = slot < 0 ? '' : partitions.name(slot);
  const first = range.conflated ? range.lastOffset : range.firstOffset;
  const messages: readonly StoredMessage[] =
    slot < 0 ? [] : await group.readMessages(range.partitionId, first, range.lastOffset);
  return { range, partition, messages };
}

function sendNothing(reply: FastifyReply, request: PopRequest, answer: PopAnswer): void {
  if (answer.conflation || answer.conflationConflict) {
    sendJsonBytes(reply, 200, renderEmptyPop(request, answer));
  } else {
    sendEmpty(reply);
  }
}
