/**
 * Serves a pop (state.md §5.3): here, at the owner of the named partition, or, when this node holds nothing
 * of the queue, at the owner of `Default`. An answer that could not be delivered is taken back, so that
 * no attempt is burnt. A pop whose partition moves while it waits follows it with the time it has left.
 */
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { QueenError } from '../common/errors.js';
import type { NodeId } from '../common/ids.js';
import { monotonicMs, QUEEN_CONFIG, type QueenConfig } from '../config/index.js';
import { sendJsonBytes } from '../http/answers.js';
import { ClientPresence } from '../http/client-presence.js';
import type { QueryValues } from '../http/query.js';
import { Tenancy } from '../tenancy/tenant.js';
import { MOVED, type PartitionPlace, type RelayAnswer } from './cluster/neighbours.js';
import { encodePopCall, encodeUndelivered } from './cluster/pop-call-codec.js';
import { EphemeralNode, OWNER_TIMEOUT_MS } from './ephemeral-node.js';
import type { PopCall } from './pops/waiting-pop.js';
import { parsePopQuery } from './requests/pop-query.js';
import { DEFAULT_PARTITION } from './requests/push-body.js';
import { sendRelayed } from './relayed-answer.js';

/** A pop is sent on at most this often; partitions do not move faster. */
const MAX_MOVES = 8;
/** A relayed pop that waits may be answered this much later than its timeout. */
const RELAY_MARGIN_MS = 5000;

interface Popped {
  readonly answer: RelayAnswer;
  /** Takes the answer back. */
  readonly undeliver: () => void;
}

@Injectable()
export class EphemeralPopService implements OnModuleDestroy {
  private readonly waiting = new Set<ClientPresence>();
  private draining = false;

  constructor(
    @Inject(EphemeralNode) private readonly node: EphemeralNode,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
  ) {}

  /** Nobody waits here any more: who does gets what an empty queue answers. */
  onModuleDestroy(): void {
    this.draining = true;
    for (const presence of this.waiting) presence.stopWaiting();
  }

  async serve(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const tenant = this.tenancy.of(request);
    const query = parsePopQuery(request.query as QueryValues, this.config.server.defaultTimeoutMs);
    this.node.gate.check(tenant);
    // HEAD must not take messages that its answer cannot carry.
    if (request.method === 'HEAD') return this.sendEmpty(reply, query.queue);
    const waits = query.wait && query.timeoutMs > 0 && !this.draining;
    const call: PopCall = {
      ...query,
      deadlineMs: waits ? monotonicMs() + query.timeoutMs : null,
    };
    const presence = new ClientPresence(reply);
    if (waits) this.waiting.add(presence);
    try {
      const popped = await this.take(tenant, call, waits ? presence : null);
      this.send(reply, presence, popped);
    } finally {
      this.waiting.delete(presence);
    }
  }

  private send(reply: FastifyReply, presence: ClientPresence, popped: Popped | null): void {
    if (this.draining) void reply.header('connection', 'close');
    if (popped === null) throw new QueenError('owner_moved');
    presence.whenLost(popped.undeliver);
    sendRelayed(reply, popped.answer);
  }

  private sendEmpty(reply: FastifyReply, queue: string): void {
    sendJsonBytes(reply, 200, this.node.engine.emptyAnswer(queue).body);
  }

  /** Follows the partition for as long as the pop may wait; null = it kept moving. */
  private async take(
    tenant: Uint8Array,
    call: PopCall,
    presence: ClientPresence | null,
  ): Promise<Popped | null> {
    const { neighbours } = this.node;
    const signal = presence?.waitSignal();
    const place = { tenant, queue: call.queue, partition: call.partition ?? DEFAULT_PARTITION };
    for (let moves = 0; moves < MAX_MOVES; moves += 1) {
      const owner = this.servesAny(tenant, call) ? null : neighbours.ownerOf(place);
      const popped =
        owner === null
          ? await this.takeHere(tenant, call, signal)
          : await this.takeThere({ owner, place, call, signal });
      if (popped !== null) return popped;
    }
    return null;
  }

  /** A pop of any partition is served from what this node holds, if that is anything. */
  private servesAny(tenant: Uint8Array, call: PopCall): boolean {
    const { engine, neighbours } = this.node;
    return call.partition === null && !neighbours.isLeaving && engine.holdsAny(tenant, call.queue);
  }

  private async takeHere(
    tenant: Uint8Array,
    call: PopCall,
    signal: AbortSignal | undefined,
  ): Promise<Popped | null> {
    const { engine } = this.node;
    const outcome = await engine.pop(tenant, call, signal);
    if (outcome.kind === 'moved') return null;
    const { body, delivery } = outcome;
    const undeliver = (): void => {
      if (delivery !== null) engine.undeliver(delivery);
    };
    return { answer: { status: 200, retryAfter: 0, body }, undeliver };
  }

  private async takeThere({ owner, place, call, signal }: RelayedPop): Promise<Popped | null> {
    const { neighbours, engine } = this.node;
    const { tenant } = place;
    const now = monotonicMs();
    const waitMs = call.deadlineMs === null ? 0 : Math.max(0, call.deadlineMs - now);
    const timeoutMs = call.deadlineMs === null ? OWNER_TIMEOUT_MS : waitMs + RELAY_MARGIN_MS;
    const body = encodePopCall(call, now);
    try {
      const request = { verb: 'pop', tenant, body, timeoutMs } as const;
      const answer = await neighbours.relay(owner, place, {
        ...request,
        ...(signal === undefined ? {} : { signal }),
      });
      if (answer === MOVED) return null;
      const undeliver = (): void => {
        if (call.commitOnDelivery || answer.status !== 200) return;
        const taken = encodeUndelivered(call.group, answer.body);
        neighbours.tell(owner, { verb: 'undeliver', tenant, body: taken, timeoutMs: 0 });
      };
      return { answer, undeliver };
    } catch (error) {
      if (signal?.aborted !== true) throw error;
      const { body: empty } = engine.emptyAnswer(call.queue);
      return { answer: { status: 200, retryAfter: 0, body: empty }, undeliver: () => undefined };
    }
  }
}

interface RelayedPop {
  readonly owner: NodeId;
  readonly place: PartitionPlace;
  readonly call: PopCall;
  readonly signal: AbortSignal | undefined;
}
