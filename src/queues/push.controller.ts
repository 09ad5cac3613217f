/** `POST /api/v1/push`. Declaration only. */
import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, LOG_CODES } from '../docs-api/index.js';
import { PUSH_ANSWERS, PUSH_EXAMPLES, PushRequestDto, PushVerdictDto } from './push.dto.js';
import { PushService } from './push.service.js';

@ApiTags('push')
@ApiTenant()
@Controller('api/v1')
export class PushController {
  constructor(private readonly pushes: PushService) {}

  @Post('push')
  @HttpCode(201)
  @RouteConfig({ growing: true })
  @Access('write-only')
  @ApiOperation({
    summary: 'Write messages',
    description:
      'Items of one (queue, partition) are appended together, in order, durable before the answer. ' +
      'Lanes are independent of each other: a verdict per item.',
  })
  @ApiBody({ type: PushRequestDto, examples: PUSH_EXAMPLES })
  @ApiAnswer({
    status: 201,
    description: 'One verdict per item, in order.',
    type: [PushVerdictDto],
    examples: PUSH_ANSWERS,
  })
  @ApiRefusals({
    codes: ['bad_body', 'bad_request', 'name_too_long', 'overloaded', 'storage_full', ...LOG_CODES],
    readsBody: true,
  })
  push(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.pushes.serve(request, reply);
  }
}
