/** `GET /metrics`: process figures as JSON (not Prometheus). */
import { Controller, Get, Inject } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Access } from '../auth/access.js';
import { ApiAnswer } from '../docs-api/index.js';
import { Traffic } from '../http/traffic.js';
import { Readiness } from '../raft/index.js';
import { METRICS_ANSWERS, MetricsDto } from './metrics.dto.js';

@ApiTags('operations')
@Controller()
export class MetricsController {
  constructor(
    private readonly traffic: Traffic,
    @Inject(Readiness) private readonly readiness: Readiness,
  ) {}

  @Get('metrics')
  @Access('public')
  @ApiOperation({
    summary: 'Figures of this process as JSON',
    description: 'For people and older clients; Prometheus has its own route.',
  })
  @ApiAnswer({ status: 200, description: 'Always.', type: MetricsDto, examples: METRICS_ANSWERS })
  metrics(): MetricsDto {
    const { traffic } = this;
    const requests = traffic.pushRequests + traffic.popRequests + traffic.ackRequests;
    const messages = traffic.pushMessages + traffic.popMessages + traffic.ackMessages;
    const { rss, heapTotal, heapUsed, external, arrayBuffers } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    return {
      uptime: Math.floor(process.uptime()),
      requests: { total: requests, rate: 0 },
      messages: { total: messages, rate: 0 },
      memory: { rss, heapTotal, heapUsed, external, arrayBuffers },
      cpu: { user, system },
      engine: 'raft',
      raft: this.raft(),
    };
  }

  private raft(): MetricsDto['raft'] {
    const { role, leader, term, applied, commit, lag, quorumAckMs, storageReady } =
      this.readiness.raft();
    return { role, leader, term, applied, commit, lag, quorumAckMs, storageReady };
  }
}
