/** Routes of quotas and of the purge of a tenant. Declarations only. */
import { Controller, Delete, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, LOG_CODES } from '../../docs-api/index.js';
import { sendJson } from '../../http/answers.js';
import { jsonObjectBody } from '../../http/json-body.js';
import type { QueryValues } from '../../http/query.js';
import { textOrUndefined } from '../../http/query.js';
import { DEFAULT_TENANT, isReservedTenant, Tenancy } from '../../tenancy/tenant.js';
import {
  ControlRefusalDto,
  PurgedTenantDto,
  QuotaDto,
  QuotaSetDto,
  ReservedTenantDto,
} from './controls.dto.js';
import { ControlsService } from './controls.service.js';
import * as examples from './examples.js';
import { BAD_KIND, parseQuota, parseTenant } from './quota-body.js';

const RESERVED = { status: 403, type: ReservedTenantDto, examples: examples.RESERVED_403 };

@ApiTags('operations')
@ApiTenant()
@Controller('api/v1')
export class TenantsController {
  constructor(
    private readonly controls: ControlsService,
    private readonly tenancy: Tenancy,
  ) {}

  @Post(['resources/quota', 'system/quota', 'system/quotas'])
  @HttpCode(200)
  @Access('admin')
  @ApiOperation({
    summary: 'Set what a tenant may use',
    description:
      'Replaces the quota of this kind. Absent limits are none; `enabled:false` refuses all.',
  })
  @ApiBody({ type: QuotaDto, examples: examples.QUOTA_EXAMPLES })
  @ApiAnswer({
    status: 200,
    description: 'The quota as it stands now.',
    type: QuotaSetDto,
    examples: examples.QUOTA_ANSWERS,
  })
  @ApiRefusals({
    codes: ['bad_body', 'bad_request', ...LOG_CODES],
    readsBody: true,
    shapes: [{ status: 400, type: ControlRefusalDto, examples: examples.QUOTA_400 }, RESERVED],
  })
  async quota(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const own = this.tenancy.of(request);
    const quota = parseQuota(jsonObjectBody(request));
    const tenant = quota?.tenant ?? own;
    if (quota === null) sendJson(reply, 400, BAD_KIND);
    else if (isReservedTenant(tenant)) sendJson(reply, 403, examples.RESERVED);
    else sendJson(reply, 200, await this.controls.setQuota(tenant, quota));
  }

  @Delete('resources/tenant')
  @Access('admin')
  @ApiOperation({
    summary: 'Purge everything of a tenant',
    description:
      'Queues, messages, keys, timers. Quotas stay. The space is given back in the background.',
  })
  @ApiQuery({ name: 'tenant', required: false, schema: { type: 'string', format: 'uuid' } })
  @ApiAnswer({
    status: 200,
    description: 'Nothing of it can be seen any more.',
    type: PurgedTenantDto,
    examples: examples.PURGE_ANSWERS,
  })
  @ApiRefusals({
    codes: ['bad_body', 'bad_request', ...LOG_CODES],
    readsBody: true,
    shapes: [{ status: 400, type: ReservedTenantDto, examples: examples.PURGE_400 }, RESERVED],
  })
  async purge(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const own = this.tenancy.of(request);
    const named = textOrUndefined(request.query as QueryValues, 'tenant');
    const tenant = parseTenant(named ?? jsonObjectBody(request, {})['tenant']) ?? own;
    if (tenant.every((byte, i) => byte === DEFAULT_TENANT[i])) {
      sendJson(reply, 400, examples.DEFAULT_TENANT_PURGE);
    } else if (isReservedTenant(tenant)) sendJson(reply, 403, examples.RESERVED);
    else sendJson(reply, 200, await this.controls.purge(tenant));
  }
}
