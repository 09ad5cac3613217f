/** `GET /metrics/prometheus`: text format 0.0.4, of this node only. */
import { Controller, Get, Inject, Res } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { PrometheusController as PrometheusControllerBase } from '@willsoto/nestjs-prometheus';
import type { FastifyReply } from 'fastify';
import type { Registry } from 'prom-client';
import { Access } from '../auth/access.js';
import { METRICS_REGISTRY } from './registry.module.js';

const EXAMPLE = `# HELP queen_raft_index Log indexes of group 0.
# TYPE queen_raft_index gauge
queen_raft_index{kind="applied"} 210
`;

@ApiTags('operations')
@Controller('metrics/prometheus')
export class PrometheusController extends PrometheusControllerBase {
  constructor(@Inject(METRICS_REGISTRY) private readonly registry: Registry) {
    super();
  }

  @Get()
  @Access('public')
  @ApiOperation({
    summary: 'Metrics of this node for Prometheus',
    description: 'Scrape every node by its own address. Families: docs/metrics.md.',
  })
  @ApiResponse({
    status: 200,
    description: 'Text format 0.0.4.',
    content: { 'text/plain': { schema: { type: 'string' }, example: EXAMPLE } },
  })
  override async index(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    void reply.header('content-type', this.registry.contentType);
    return this.registry.metrics();
  }
}
