/** Routes for browsing keys. Declarations only. */
import { Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, stateShapes } from '../docs-api/index.js';
import { sendJsonBytes } from '../http/answers.js';
import { Tenancy } from '../tenancy/tenant.js';
import * as examples from './examples.js';
import { KvListDto, KvNamespacesDto, KvPageDto } from './kv.dto.js';
import { KvConsoleService } from './kv-console.service.js';
import { listBody, refuseQuery } from './kv-path.js';

@ApiTags('kv')
@ApiTenant()
@Controller('api/v1/resources/kv')
export class KvConsoleController {
  constructor(
    private readonly console: KvConsoleService,
    private readonly tenancy: Tenancy,
  ) {}

  @Get('namespaces')
  @Access('read-only')
  @ApiOperation({ summary: 'List the namespaces with the number of their keys' })
  @ApiAnswer({
    status: 200,
    description: 'In byte order.',
    type: KvNamespacesDto,
    examples: examples.NAMESPACES_ANSWERS,
  })
  @ApiRefusals({ codes: [], shapes: stateShapes(examples.NAMESPACES_REFUSALS) })
  async namespaces(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const tenant = this.tenancy.of(request);
    refuseQuery(request);
    sendJsonBytes(reply, 200, await this.console.namespaces(tenant));
  }

  @Post('list')
  @HttpCode(200)
  @Access('read-only')
  @ApiOperation({
    summary: 'List keys of a namespace, a page at a time',
    description: 'In byte order. A page ends at `limit` keys or at 4 MiB of values.',
  })
  @ApiBody({ type: KvListDto, examples: examples.LIST_EXAMPLES })
  @ApiAnswer({
    status: 200,
    description: 'A page; the next one starts after `nextAfter`.',
    type: KvPageDto,
    examples: examples.LIST_ANSWERS,
  })
  @ApiRefusals({
    codes: [],
    readsBody: true,
    shapes: stateShapes(examples.LIST_REFUSALS),
  })
  async list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const tenant = this.tenancy.of(request);
    refuseQuery(request);
    sendJsonBytes(reply, 200, await this.console.list(tenant, listBody(request)));
  }
}
