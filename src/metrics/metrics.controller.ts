/** `GET /metrics`: process figures as JSON (not Prometheus). */
import { Controller, Get } from '@nestjs/common';
import { Access } from '../auth/access.js';
import { BrokerIndicator } from '../health/broker.indicator.js';
import { Traffic } from '../http/traffic.js';

@Controller()
export class MetricsController {
  constructor(
    private readonly traffic: Traffic,
    private readonly broker: BrokerIndicator,
  ) {}

  @Get('metrics')
  @Access('public')
  metrics(): unknown {
    const { traffic } = this;
    const { apply: _apply, clusterVersion: _version, kinds: _kinds, ...raft } = this.broker.raft();
    const requests = traffic.pushRequests + traffic.popRequests + traffic.ackRequests;
    const messages = traffic.pushMessages + traffic.popMessages + traffic.ackMessages;
    const memory = process.memoryUsage();
    const cpu = process.cpuUsage();
    return {
      uptime: Math.floor(process.uptime()),
      requests: { total: requests, rate: 0 },
      messages: { total: messages, rate: 0 },
      memory: {
        rss: memory.rss,
        heapTotal: memory.heapTotal,
        heapUsed: memory.heapUsed,
        external: memory.external,
        arrayBuffers: memory.arrayBuffers,
      },
      cpu: { user: cpu.user, system: cpu.system },
      engine: 'raft',
      raft,
    };
  }
}
