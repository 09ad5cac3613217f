/** The route of locks and semaphores. Declarations only. */
import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, stateShapes } from '../docs-api/index.js';
import { sendJson } from '../http/answers.js';
import { bodyBytes } from '../http/fastify-setup.js';
import { Tenancy } from '../tenancy/tenant.js';
import * as examples from './examples.js';
import { LockResultsDto, LocksDto } from './locks.dto.js';
import { LocksService } from './locks.service.js';

@ApiTags('locks')
@ApiTenant()
@Controller('api/v1/locks')
export class LocksController {
  constructor(
    private readonly locks: LocksService,
    private readonly tenancy: Tenancy,
  ) {}

  @Post()
  @HttpCode(200)
  @RouteConfig({ growing: true })
  @Access('read-write')
  @ApiOperation({
    summary: 'Acquire, renew, release and look at locks and semaphores',
    description:
      'A permit lives for `ttlSeconds` unless it is renewed. Its token rises with every change; put ' +
      'the `guard` of an answer into the `kv` of a transaction and it commits only while you hold it.',
  })
  @ApiBody({ type: LocksDto, examples: examples.LOCK_EXAMPLES })
  @ApiAnswer({
    status: 200,
    description: 'One element per operation; they are independent of each other.',
    type: LockResultsDto,
    examples: examples.LOCK_ANSWERS,
  })
  @ApiRefusals({
    codes: ['overloaded', 'storage_full'],
    readsBody: true,
    shapes: stateShapes(examples.LOCK_REFUSALS),
  })
  async call(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const tenant = this.tenancy.of(request);
    sendJson(reply, 200, await this.locks.call(tenant, bodyBytes(request)));
  }
}
