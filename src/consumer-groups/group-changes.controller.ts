/** Changes of consumer groups: seek, subscription, delete. Declarations only. */
import { Controller, Delete, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, LOG_CODES } from '../docs-api/index.js';
import { sendJson } from '../http/answers.js';
import { jsonObjectBody } from '../http/json-body.js';
import type { QueryValues } from '../http/query.js';
import { Tenancy } from '../tenancy/tenant.js';
import {
  DeletedGroupDto,
  SeekRefusalDto,
  SeekRequestDto,
  SoughtDto,
  SubscriptionDto,
  SubscriptionRequestDto,
} from './consumer-groups.dto.js';
import {
  DELETE_ANSWERS,
  SEEK_400,
  SEEK_404,
  SEEK_ANSWERS,
  SEEK_EXAMPLES,
  SUBSCRIPTION_ANSWERS,
  SUBSCRIPTION_EXAMPLES,
} from './examples.js';
import { GroupChangesService } from './group-changes.service.js';
import { checkGroupNames, seekAnswer, seekMissing, SEEK_WITHOUT_TARGET } from './seek-answer.js';
import { parseSeek } from './seek-target.js';

const NAME = { type: 'string', minLength: 1 };
const GROUP_PARAM = { name: 'group', schema: NAME, example: 'billing' };
const QUEUE_PARAM = { name: 'queue', schema: NAME, example: 'orders' };
const PARTITION_PARAM = { name: 'partition', schema: NAME, example: 'customer-9' };
const METADATA_QUERY = {
  name: 'deleteMetadata',
  required: false,
  description: '`false` keeps the registration with its start policy.',
  schema: { type: 'boolean', default: true },
} as const;
const DELETED = {
  status: 200,
  description: 'What was deleted; the call succeeds when there was nothing.',
  type: DeletedGroupDto,
  examples: DELETE_ANSWERS,
} as const;
const SOUGHT = {
  status: 200,
  description: 'How many lanes were moved. Live leases on them are over.',
  type: SoughtDto,
  examples: SEEK_ANSWERS,
} as const;
const SEEK_REFUSALS = {
  codes: ['bad_body', 'name_too_long', ...LOG_CODES],
  readsBody: true,
  shapes: [
    { status: 400, type: SeekRefusalDto, examples: SEEK_400 },
    { status: 404, type: SeekRefusalDto, examples: SEEK_404 },
  ],
} as const;
const SEEK_BODY = { type: SeekRequestDto, required: false, examples: SEEK_EXAMPLES };

interface GroupPath {
  readonly group: string;
  readonly queue?: string;
  readonly partition?: string;
}

@ApiTags('consume')
@ApiTenant()
@Controller('api/v1/consumer-groups')
export class GroupChangesController {
  constructor(
    private readonly changes: GroupChangesService,
    private readonly tenancy: Tenancy,
  ) {}

  @Post(':group/queues/:queue/seek')
  @HttpCode(200)
  @Access('read-write')
  @ApiOperation({
    summary: 'Move a group on every lane of a queue',
    description: 'An empty body means the end. Creates missing cursors; registers nothing.',
  })
  @ApiParam(GROUP_PARAM)
  @ApiParam(QUEUE_PARAM)
  @ApiBody(SEEK_BODY)
  @ApiAnswer(SOUGHT)
  @ApiRefusals(SEEK_REFUSALS)
  seekQueue(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.seek(request, reply);
  }

  @Post(':group/queues/:queue/partitions/:partition/seek')
  @HttpCode(200)
  @Access('read-write')
  @ApiOperation({ summary: 'Move a group on one lane' })
  @ApiParam(GROUP_PARAM)
  @ApiParam(QUEUE_PARAM)
  @ApiParam(PARTITION_PARAM)
  @ApiBody(SEEK_BODY)
  @ApiAnswer(SOUGHT)
  @ApiRefusals(SEEK_REFUSALS)
  seekPartition(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.seek(request, reply);
  }

  @Post(':group/subscription')
  @HttpCode(200)
  @Access('read-write')
  @ApiOperation({
    summary: 'Let a group start at an instant',
    description: 'On every queue where it is registered, for lanes where it has no cursor yet.',
  })
  @ApiParam(GROUP_PARAM)
  @ApiBody({ type: SubscriptionRequestDto, examples: SUBSCRIPTION_EXAMPLES })
  @ApiAnswer({
    status: 200,
    description: 'On how many queues.',
    type: SubscriptionDto,
    examples: SUBSCRIPTION_ANSWERS,
  })
  @ApiRefusals({
    codes: ['bad_body', 'bad_request', 'name_too_long', ...LOG_CODES],
    readsBody: true,
  })
  subscribe(@Req() request: FastifyRequest, @Param('group') group: string): Promise<object> {
    checkGroupNames({ group });
    const { subscriptionTimestamp } = jsonObjectBody(request);
    return this.changes.subscribe(this.tenancy.of(request), group, subscriptionTimestamp);
  }

  @Delete(':group')
  @Access('admin')
  @ApiOperation({ summary: 'Delete a group everywhere' })
  @ApiParam(GROUP_PARAM)
  @ApiQuery(METADATA_QUERY)
  @ApiAnswer(DELETED)
  @ApiRefusals({ codes: ['name_too_long', ...LOG_CODES] })
  removeGroup(@Req() request: FastifyRequest): Promise<object> {
    return this.remove(request);
  }

  @Delete(':group/queues/:queue')
  @Access('admin')
  @ApiOperation({ summary: 'Delete a group on one queue' })
  @ApiParam(GROUP_PARAM)
  @ApiParam(QUEUE_PARAM)
  @ApiQuery(METADATA_QUERY)
  @ApiAnswer(DELETED)
  @ApiRefusals({ codes: ['name_too_long', ...LOG_CODES] })
  removeOnQueue(@Req() request: FastifyRequest): Promise<object> {
    return this.remove(request);
  }

  private remove(request: FastifyRequest): Promise<object> {
    const { group, queue } = request.params as GroupPath;
    checkGroupNames({ group, ...(queue === undefined ? {} : { queue }) });
    return this.changes.remove(this.tenancy.of(request), {
      consumerGroup: group,
      queue: queue ?? null,
      deleteMetadata: (request.query as QueryValues)['deleteMetadata'] !== 'false',
    });
  }

  private async seek(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { group, queue = '', partition } = request.params as GroupPath;
    const tenant = this.tenancy.of(request);
    checkGroupNames({ group, queue, partition: partition ?? '' });
    const target = parseSeek(request);
    if (target === null) {
      sendJson(reply, 400, SEEK_WITHOUT_TARGET);
      return;
    }
    const seek = { consumerGroup: group, queue, partition: partition ?? null };
    const moved = await this.changes.seek(tenant, seek, target);
    if (moved === 0) sendJson(reply, 404, seekMissing(seek));
    else sendJson(reply, 200, seekAnswer(seek, target, moved));
  }
}
