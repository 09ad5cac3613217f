/** Management of ephemeral queues (state.md §5.5): declare, reset, delete, listing, depth. */
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { QueenError } from '../common/errors.js';
import { QUEEN_CONFIG, type QueenConfig } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import { jsonObjectBody, type JsonObject } from '../http/json-body.js';
import { textOrUndefined, type QueryValues } from '../http/query.js';
import type { Outcome } from '../machine/commands/catalogue.js';
import { CommandKind } from '../machine/commands/catalogue.js';
import { encodeDeclareEphemeral, encodeDropEphemeral } from '../machine/commands/index.js';
import { Groups } from '../raft/index.js';
import { Tenancy } from '../tenancy/tenant.js';
import { listQueues, readDepth, type ReadParts } from './engine/queue-reads.js';
import { EphemeralNode } from './ephemeral-node.js';
import { checkOptions } from './queues/options.js';
import { badRequest, checkName } from './requests/names.js';

@Injectable()
export class EphemeralQueuesService {
  constructor(
    @Inject(EphemeralNode) private readonly node: EphemeralNode,
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
  ) {}

  /** Replicated: every node applies the options to its share of the queue. */
  async configure(request: FastifyRequest): Promise<unknown> {
    const tenant = this.tenancy.of(request);
    const body = objectBody(request);
    const queue = queueOf(body);
    const options = optionsOf(body);
    this.node.gate.check(tenant);
    const command = { queue, optionsText: JSON.stringify(options) };
    const outcome = await this.submit(tenant, encodeDeclareEphemeral(tenant, command));
    if (outcome.kind !== CommandKind.DeclareEphemeral) throw new QueenError('retry');
    return { queue, options, declared: true };
  }

  /** Here at once, on the other nodes as soon as they hear of it; counts what was dropped here. */
  async reset(request: FastifyRequest): Promise<unknown> {
    const tenant = this.tenancy.of(request);
    const queue = queueOf(objectBody(request));
    const { engine, gate, neighbours } = this.node;
    gate.check(tenant);
    neighbours.tellAll({ verb: 'reset', tenant, body: Buffer.from(queue), timeoutMs: 0 });
    return { queue, dropped: await engine.reset(tenant, queue) };
  }

  /** The declaration through the log, the contents on every node. */
  async remove(request: FastifyRequest, queue: string): Promise<unknown> {
    const tenant = this.tenancy.of(request);
    checkName('queue', queue);
    const { engine, gate, neighbours } = this.node;
    gate.check(tenant);
    const outcome = await this.submit(tenant, encodeDropEphemeral(tenant, { queue }));
    if (outcome.kind !== CommandKind.DropEphemeral) throw new QueenError('retry');
    neighbours.tellAll({ verb: 'delete', tenant, body: Buffer.from(queue), timeoutMs: 0 });
    const wasHere = await engine.delete(tenant, queue);
    return { queue, deleted: wasHere || outcome.existed, declared: outcome.existed };
  }

  async list(request: FastifyRequest): Promise<unknown> {
    const tenant = this.tenancy.of(request);
    this.node.gate.check(tenant);
    return listQueues(this.readParts, tenant);
  }

  async depth(request: FastifyRequest, queue: string): Promise<unknown> {
    const tenant = this.tenancy.of(request);
    checkName('queue', queue);
    const group = textOrUndefined(request.query as QueryValues, 'group') ?? null;
    if (group !== null) checkName('group', group);
    this.node.gate.check(tenant);
    const depth = await readDepth(this.readParts, tenant, { queue, group });
    if (depth === null) throw new QueenError('ephemeral_queue_not_found');
    return depth;
  }

  private get readParts(): ReadParts {
    const { store, parts } = this.node.engine;
    return { store, declarations: parts.declarations, limits: parts.limits };
  }

  private async submit(tenant: Uint8Array, bytes: Uint8Array): Promise<Outcome> {
    const deadlineMs = deadlineAfter(this.config.server.stmtTimeoutMs);
    return this.groups.ofTenant(tenant).submit({ bytes }, { deadlineMs });
  }
}

/** The body; what is wrong with it is told in this family's code. */
function objectBody(request: FastifyRequest): JsonObject {
  try {
    return jsonObjectBody(request);
  } catch (error) {
    if (error instanceof QueenError && error.code === 'bad_body') throw badRequest(error.message);
    throw error;
  }
}

function queueOf(body: JsonObject): string {
  const { queue } = body;
  if (typeof queue !== 'string') throw badRequest('queue is required');
  checkName('queue', queue);
  return queue;
}

function optionsOf(body: JsonObject): JsonObject {
  const { options } = body;
  if (options === undefined || options === null) return {};
  if (typeof options !== 'object' || Array.isArray(options)) {
    throw badRequest('options must be an object');
  }
  checkOptions(options as JsonObject);
  return options as JsonObject;
}
