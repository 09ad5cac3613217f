/** Routes of keys and values. Declarations only. */
import { Controller, Delete, Get, HttpCode, Post, Put, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, stateShapes } from '../docs-api/index.js';
import { sendJsonBytes } from '../http/answers.js';
import { bodyBytes } from '../http/fastify-setup.js';
import { Tenancy } from '../tenancy/tenant.js';
import * as examples from './examples.js';
import {
  KvBatchDto,
  KvDeleteDto,
  KvElementDto,
  KvPreconditionDto,
  KvPutDto,
  KvResultsDto,
} from './kv.dto.js';
import { deleteOperation, getOperation, putOperation, refuseQuery } from './kv-path.js';
import { KvService } from './kv.service.js';

const NAMESPACE = {
  ...{ name: 'ns', description: 'Namespace.', example: 'saga' },
  schema: { type: 'string', minLength: 1 },
};
const KEY = {
  ...{ name: 'key', description: 'Key; may hold slashes.', example: 'order-1' },
  schema: { type: 'string', minLength: 1 },
};
const ELEMENT = { oneOf: [KvElementDto, KvPreconditionDto] } as const;
const WRITES = {
  codes: ['overloaded', 'storage_full'],
  readsBody: true,
  shapes: stateShapes(examples.WRITE_REFUSALS),
} as const;

@ApiTags('kv')
@ApiTenant()
@Controller('api/v1/kv')
export class KvController {
  constructor(
    private readonly kv: KvService,
    private readonly tenancy: Tenancy,
  ) {}

  @Post()
  @HttpCode(200)
  @RouteConfig({ growing: true })
  @Access('read-write')
  @ApiOperation({
    summary: 'Read and write keys in one call',
    description:
      'Writes and checks are one entry of the log. Operations are judged in byte order of namespace ' +
      'and key; reads of several keys see the writes of the call. A lost condition is `applied:false`; ' +
      'with `required` it undoes the whole call.',
  })
  @ApiBody({ type: KvBatchDto, examples: examples.BATCH_EXAMPLES })
  @ApiAnswer({
    status: 200,
    description: 'One element per operation, or what undid the call.',
    type: { oneOf: [KvResultsDto, KvPreconditionDto] },
    examples: examples.BATCH_ANSWERS,
  })
  @ApiRefusals(WRITES)
  async batch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const tenant = this.tenancy.of(request);
    sendJsonBytes(reply, 200, await this.kv.batch(tenant, bodyBytes(request)));
  }

  @Get(':ns/*')
  @Access('read-only')
  @ApiOperation({ summary: 'Read one key', description: 'A miss is 200 with `found:false`.' })
  @ApiParam(NAMESPACE)
  @ApiParam(KEY)
  @ApiAnswer({
    status: 200,
    description: 'The row; `ETag` is its version.',
    type: KvElementDto,
    examples: examples.GET_ANSWERS,
  })
  @ApiRefusals({ codes: [], shapes: stateShapes(examples.READ_REFUSALS) })
  async get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const tenant = this.tenancy.of(request);
    refuseQuery(request);
    const { body, version } = await this.kv.single(tenant, getOperation(request), 0);
    if (version !== null) void reply.header('etag', `"${version}"`);
    sendJsonBytes(reply, 200, body);
  }

  @Put(':ns/*')
  @RouteConfig({ growing: true })
  @Access('read-write')
  @ApiOperation({ summary: 'Write one key' })
  @ApiParam(NAMESPACE)
  @ApiParam(KEY)
  @ApiBody({ type: KvPutDto, examples: examples.PUT_EXAMPLES })
  @ApiAnswer({
    status: 200,
    description: 'The verdict.',
    type: ELEMENT,
    examples: examples.PUT_ANSWERS,
  })
  @ApiRefusals(WRITES)
  async put(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const tenant = this.tenancy.of(request);
    refuseQuery(request);
    const { length } = bodyBytes(request);
    const { body } = await this.kv.single(tenant, putOperation(request), length);
    sendJsonBytes(reply, 200, body);
  }

  @Delete(':ns/*')
  @Access('read-write')
  @ApiOperation({ summary: 'Delete one key' })
  @ApiParam(NAMESPACE)
  @ApiParam(KEY)
  @ApiBody({ type: KvDeleteDto, required: false, examples: examples.DELETE_EXAMPLES })
  @ApiAnswer({
    status: 200,
    description: 'The verdict, with the row that was removed.',
    type: ELEMENT,
    examples: examples.DELETE_ANSWERS,
  })
  @ApiRefusals({ ...WRITES, codes: [] })
  async remove(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const tenant = this.tenancy.of(request);
    refuseQuery(request);
    const { length } = bodyBytes(request);
    const { body } = await this.kv.single(tenant, deleteOperation(request), length);
    sendJsonBytes(reply, 200, body);
  }
}
