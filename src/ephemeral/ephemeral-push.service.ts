/** Serves a push to an ephemeral queue (state.md §5.2): scan, gate, then here or at the owner. */
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendJsonBytes } from '../http/answers.js';
import { bodyBytes } from '../http/fastify-setup.js';
import { Tenancy } from '../tenancy/tenant.js';
import { askOwner } from './cluster/neighbours.js';
import { EphemeralNode, OWNER_TIMEOUT_MS } from './ephemeral-node.js';
import { PushBodyScan } from './requests/push-body.js';
import { sendRelayed } from './relayed-answer.js';

@Injectable()
export class EphemeralPushService {
  private readonly scan = new PushBodyScan();

  constructor(
    @Inject(EphemeralNode) private readonly node: EphemeralNode,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
  ) {}

  async serve(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { scan, node } = this;
    const tenant = this.tenancy.of(request);
    const body = bodyBytes(request);
    scan.scan(body);
    const { count, queue, partition } = scan;
    if (count === 0) return sendPushed(reply, 0);
    const limits = node.gate.check(tenant);
    node.gate.charge(tenant, count);
    const place = { tenant, queue, partition };
    if (node.neighbours.ownerOf(place) !== null) {
      const call = { verb: 'push', tenant, body, timeoutMs: OWNER_TIMEOUT_MS } as const;
      const answer = await askOwner(node.neighbours, place, call);
      if (answer !== null) return sendRelayed(reply, answer);
      // It came back to this node; others used the scan meanwhile.
      scan.scan(body);
    }
    node.engine.push(tenant, place, scan, limits);
    sendPushed(reply, count);
  }
}

function sendPushed(reply: FastifyReply, count: number): void {
  sendJsonBytes(reply, 201, Buffer.from(`{"pushed":${count}}`));
}
