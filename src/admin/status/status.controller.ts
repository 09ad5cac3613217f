/** `GET /api/v1/status` and `/api/v1/status/analytics` (admin.md §1.1). Declarations only. */
import { Controller, Get, Req } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Access } from '../../auth/access.js';
import { ApiAnswer, ApiTenant } from '../../docs-api/index.js';
import type { QueryValues } from '../../http/query.js';
import { Tenancy } from '../../tenancy/tenant.js';
import { STATUS, STATUS_ANALYTICS } from '../analytics/examples.js';
import { ApiTexts, ApiWindow } from '../analytics/parameters.js';
import { StatusAnalyticsDto, StatusAnswerDto } from './status.dto.js';
import { StatusService } from './status.service.js';

@ApiTags('operations')
@ApiTenant()
@Controller('api/v1/status')
export class BrokerStatusController {
  constructor(
    private readonly service: StatusService,
    private readonly tenancy: Tenancy,
  ) {}

  @Get()
  @Access('read-only')
  @ApiOperation({
    summary: 'The broker in one answer',
    description: 'Never waits for a leader; a silent member is named after 1.5 s.',
  })
  @ApiWindow()
  @ApiTexts({ queue: 'Exact name.', namespace: 'Exact label.', task: 'Exact label.' })
  @ApiAnswer({
    status: 200,
    description: 'Throughput, queues, leases, dead letters, processes.',
    type: StatusAnswerDto,
    examples: STATUS,
  })
  status(@Req() request: FastifyRequest): Promise<StatusAnswerDto> {
    return this.service.status(this.tenancy.of(request), request.query as QueryValues);
  }

  @Get('analytics')
  @Access('read-only')
  @ApiOperation({ summary: 'Messages retained now', description: 'For older clients.' })
  @ApiAnswer({
    status: 200,
    description: 'One point.',
    type: StatusAnalyticsDto,
    examples: STATUS_ANALYTICS,
  })
  analytics(@Req() request: FastifyRequest): Promise<StatusAnalyticsDto> {
    return this.service.analytics(this.tenancy.of(request));
  }
}
