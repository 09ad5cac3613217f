/** Routes of consumption: the three pops, ack, batch ack, lease extend. Declarations only. */
import { Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { bodyBytes } from '../http/fastify-setup.js';
import { Tenancy } from '../tenancy/tenant.js';
import { AckService } from './ack.service.js';
import { LeaseService } from './lease.service.js';
import { PopService } from './pop.service.js';

@Controller('api/v1')
export class LeasesController {
  constructor(
    private readonly pops: PopService,
    private readonly acks: AckService,
    private readonly leases: LeaseService,
    private readonly tenancy: Tenancy,
  ) {}

  @Get('pop/queue/:queue')
  @Access('read-write')
  popQueue(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('queue') queue: string,
  ): Promise<void> {
    return this.pops.serve({ scope: 'queue', queue, partition: '' }, request, reply);
  }

  @Get('pop/queue/:queue/partition/:partition')
  @Access('read-write')
  popPartition(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { queue, partition } = request.params as { queue: string; partition: string };
    return this.pops.serve({ scope: 'partition', queue, partition }, request, reply);
  }

  @Get('pop')
  @Access('read-write')
  popDiscovery(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.pops.serve({ scope: 'discovery', queue: '', partition: '' }, request, reply);
  }

  @Post('ack')
  @HttpCode(200)
  @Access('read-write')
  ack(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.acks.serve(request, reply);
  }

  @Post('ack/batch')
  @HttpCode(200)
  @Access('read-write')
  ackBatch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.acks.serve(request, reply);
  }

  @Post('lease/:leaseId/extend')
  @HttpCode(200)
  @Access('read-write')
  extend(@Req() request: FastifyRequest, @Param('leaseId') leaseId: string): Promise<unknown> {
    return this.leases.extend(this.tenancy.of(request), leaseId, bodyBytes(request));
  }
}
