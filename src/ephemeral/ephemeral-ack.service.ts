/** Serves acks (state.md §5.4); a batch goes where the partition of its first id lives. */
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendJsonBytes } from '../http/answers.js';
import { bodyBytes } from '../http/fastify-setup.js';
import { Tenancy } from '../tenancy/tenant.js';
import { askOwner } from './cluster/neighbours.js';
import { EphemeralNode, OWNER_TIMEOUT_MS } from './ephemeral-node.js';
import { AckBodyScan } from './requests/ack-body.js';
import { parseMessageId } from './requests/names.js';
import { DEFAULT_PARTITION } from './requests/push-body.js';
import { sendRelayed } from './relayed-answer.js';

@Injectable()
export class EphemeralAckService {
  private readonly scan = new AckBodyScan();

  constructor(
    @Inject(EphemeralNode) private readonly node: EphemeralNode,
    @Inject(Tenancy) private readonly tenancy: Tenancy,
  ) {}

  async serve(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { scan, node } = this;
    const tenant = this.tenancy.of(request);
    const body = bodyBytes(request);
    scan.scan(body);
    node.gate.check(tenant);
    const first = scan.count === 0 ? null : parseMessageId(scan.idText(0));
    const place = { tenant, queue: scan.queue, partition: first?.partition ?? DEFAULT_PARTITION };
    if (scan.count > 0 && node.neighbours.ownerOf(place) !== null) {
      const call = { verb: 'ack', tenant, body, timeoutMs: OWNER_TIMEOUT_MS } as const;
      const answer = await askOwner(node.neighbours, place, call);
      if (answer !== null) return sendRelayed(reply, answer);
      scan.scan(body);
    }
    sendJsonBytes(reply, 200, node.engine.ack(tenant, scan));
  }
}
