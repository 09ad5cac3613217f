/**
 * Serves a pop: registers the group when it must be, waits at the dispatcher, reads the granted bytes
 * and answers. A grant whose answer cannot be delivered is handed back, so no attempt is burnt.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { QueenError } from '../common/errors.js';
import { micros } from '../common/ids.js';
import { nameRefusal } from '../common/name-budget.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { sendEmpty, sendJson, sendJsonBytes } from '../http/answers.js';
import { ClientPresence } from '../http/client-presence.js';
import { deadlineAfter } from '../http/deadlines.js';
import { implicitDefaults } from '../http/implicit-defaults.js';
import type { QueryValues } from '../http/query.js';
import type { GrantOutcome, GrantedRange } from '../machine/commands/catalogue.js';
import { StartMode } from '../machine/commands/catalogue.js';
import { encodeRegister } from '../machine/commands/index.js';
import { QUEUE_MODE_GROUP } from '../machine/tables/tables.js';
import type { CallOptions, Group, PopAnswer, PopRequest, StoredMessage } from '../raft/index.js';
import { Groups } from '../raft/index.js';
import { Traffic } from '../http/traffic.js';
import { Tenancy } from '../tenancy/tenant.js';
import { DeliveredIds } from './delivered-ids.js';
import { leaseKeyOf } from './lease-key.js';
import type { DeliveredBatch } from './pop-answer.js';
import { renderEmptyPop, renderPop } from './pop-answer.js';
import { parsePop, popRefusal } from './pop-params.js';
import type { ParsedPop } from './pop-params.js';

type PopPath = Pick<PopRequest, 'scope' | 'queue' | 'partition'>;

@Injectable()
export class PopService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
    @Inject(DeliveredIds) private readonly delivered: DeliveredIds,
    @Inject(Traffic) private readonly traffic: Traffic,
  ) {}

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
    this.checkNames(parsed.request);
    await this.answer(parsed, this.groups.ofTenant(tenant), reply);
  }

  private checkNames(request: PopRequest): void {
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

  private async answer(parsed: ParsedPop, group: Group, reply: FastifyReply): Promise<void> {
    const presence = new ClientPresence(reply);
    const options: CallOptions = {
      deadlineMs: deadlineAfter(parsed.timeoutMs),
      signal: presence.signal,
    };
    await this.register(parsed.request, group, options);
    const answer = await group.pop(parsed.request, options);
    if (answer.grant === null) {
      sendNothing(reply, parsed.request, answer);
      return;
    }
    if (presence.isGone) {
      group.handBack(answer.grant);
      return;
    }
    await this.deliver(parsed.request, { group, answer, grant: answer.grant }, { reply, presence });
  }

  private async deliver(
    request: PopRequest,
    from: { readonly group: Group; readonly answer: PopAnswer; readonly grant: GrantOutcome },
    to: { readonly reply: FastifyReply; readonly presence: ClientPresence },
  ): Promise<void> {
    const { group, grant } = from;
    let batches: DeliveredBatch[];
    try {
      batches = await this.read(group, grant);
    } catch (error) {
      group.handBack(grant);
      throw error;
    }
    to.presence.whenLost(() => group.handBack(grant));
    if (to.presence.isGone) return;
    if (!grant.commitOnDelivery) this.remember(grant, batches);
    for (const batch of batches) this.traffic.popMessages += batch.messages.length;
    sendJsonBytes(to.reply, 200, renderPop(request, from.answer, batches));
  }

  private async read(group: Group, grant: GrantOutcome): Promise<DeliveredBatch[]> {
    const reads = grant.ranges.map(async (range) => ({
      range,
      partition: partitionName(group, range),
      messages: await readRange(group, range),
    }));
    return Promise.all(reads);
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

  /** Commits what the pop's side effects need before it waits: queue, registration, group number. */
  private async register(request: PopRequest, group: Group, options: CallOptions): Promise<void> {
    const { names, queues, registrations } = group.tables;
    const tenant = names.tenant(request.tenant);
    const groupId = tenant === undefined ? undefined : names.group(tenant, request.group);
    if (request.scope === 'partition') {
      if (groupId === undefined) await this.submitRegister(request, '', { group, options });
      return;
    }
    if (request.scope === 'queue') {
      const queue = tenant === undefined ? undefined : queues.find(tenant, request.queue);
      const known =
        queue !== undefined &&
        groupId !== undefined &&
        registrations.find(queue.id, groupId) !== undefined;
      if (!known) await this.submitRegister(request, request.queue, { group, options });
      return;
    }
    if (tenant === undefined) return;
    for (const queue of queues.list(tenant)) {
      const { namespace, task } = queue.options;
      if (request.namespace !== '' && request.namespace !== namespace) continue;
      if (request.task !== '' && request.task !== task) continue;
      if (groupId !== undefined && registrations.find(queue.id, groupId) !== undefined) continue;
      await this.submitRegister(request, queue.name, { group, options });
    }
  }

  private async submitRegister(
    request: PopRequest,
    queue: string,
    to: { readonly group: Group; readonly options: CallOptions },
  ): Promise<void> {
    const mode = { all: StartMode.All, new: StartMode.New, timestamp: StartMode.Timestamp };
    const bytes = encodeRegister(request.tenant, {
      queue,
      group: request.group,
      createQueue: request.scope === 'queue',
      defaults: implicitDefaults(),
      mode: mode[request.intent.mode],
      instant: micros(request.intent.instantMicros),
      conflation: request.conflation === true,
      namespace: request.namespace,
      task: request.task,
    });
    await to.group.submit({ bytes }, to.options);
  }
}

function partitionName(group: Group, range: GrantedRange): string {
  const { partitions } = group.tables;
  const slot = partitions.byId(range.partitionId);
  return slot < 0 ? '' : partitions.name(slot);
}

function readRange(group: Group, range: GrantedRange): Promise<StoredMessage[]> {
  const first = range.conflated ? range.lastOffset : range.firstOffset;
  return group.readMessages(range.partitionId, first, range.lastOffset);
}

function sendNothing(reply: FastifyReply, request: PopRequest, answer: PopAnswer): void {
  if (answer.conflation || answer.conflationConflict) {
    sendJsonBytes(reply, 200, renderEmptyPop(request, answer));
  } else {
    sendEmpty(reply);
  }
}
