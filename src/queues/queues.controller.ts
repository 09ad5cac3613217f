/** Routes of queues: configure, delete, list, detail, depth, sizes. Declarations only. */
import { Controller, Delete, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { sendJson, sendJsonBytes } from '../http/answers.js';
import { jsonObjectBody } from '../http/json-body.js';
import type { QueryValues } from '../http/query.js';
import { textOrUndefined } from '../http/query.js';
import { Tenancy } from '../tenancy/tenant.js';
import { parseQueueFilter } from './queue-filter.js';
import { QueueReadsService } from './queue-reads.service.js';
import { ModeRefusal, QueuesService } from './queues.service.js';

const NOT_FOUND = { error: 'Queue not found' };

@Controller('api/v1')
export class QueuesController {
  constructor(
    private readonly queues: QueuesService,
    private readonly reads: QueueReadsService,
    private readonly tenancy: Tenancy,
  ) {}

  @Post('configure')
  @HttpCode(200)
  @Access('read-write')
  async configure(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    try {
      sendJson(
        reply,
        200,
        await this.queues.configure(this.tenancy.of(request), jsonObjectBody(request)),
      );
    } catch (error) {
      if (!(error instanceof ModeRefusal)) throw error;
      sendJson(reply, 400, { error: error.message });
    }
  }

  @Delete('resources/queues/:queue')
  @Access('admin')
  remove(@Req() request: FastifyRequest, @Param('queue') queue: string): Promise<unknown> {
    return this.queues.remove(this.tenancy.of(request), queue);
  }

  @Get('resources/queues')
  @Access('read-only')
  async list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const tenant = this.tenancy.of(request);
    const query = request.query as QueryValues;
    const filter = parseQueueFilter(query);
    const lanes = query['stats'] === 'lanes';
    sendFound(
      reply,
      lanes ? await this.reads.lanes(tenant, filter) : await this.reads.list(tenant, filter),
    );
  }

  @Get('resources/queues/:queue')
  @Access('read-only')
  async detail(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('queue') queue: string,
  ): Promise<void> {
    sendFound(reply, await this.reads.detail(this.tenancy.of(request), queue));
  }

  @Get('resources/queues/:queue/depth')
  @Access('read-only')
  async depth(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { queue } = request.params as { queue: string };
    const group = textOrUndefined(request.query as QueryValues, 'group');
    sendFound(reply, await this.reads.depth(this.tenancy.of(request), queue, group));
  }

  @Get('resources/queues/:queue/sizes')
  @Access('read-only')
  async sizes(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('queue') queue: string,
  ): Promise<void> {
    sendFound(reply, await this.reads.sizes(this.tenancy.of(request), queue));
  }
}

function sendFound(reply: FastifyReply, body: Uint8Array | null): void {
  if (body === null) sendJson(reply, 404, NOT_FOUND);
  else sendJsonBytes(reply, 200, body);
}
