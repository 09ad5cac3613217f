/** `GET /health`: Terminus runs the check; the body is the one clients of this API know. */
import { Controller, Get, Inject, Res, ServiceUnavailableException } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { HealthCheckService } from '@nestjs/terminus';
import type { FastifyReply } from 'fastify';
import { Access } from '../auth/access.js';
import { BROKER_VERSION } from '../common/version.js';
import { ApiAnswer } from '../docs-api/index.js';
import { sendJson } from '../http/answers.js';
import type { RaftHealth } from '../raft/index.js';
import { Readiness } from '../raft/index.js';
import { BrokerIndicator } from './broker.indicator.js';
import { HealthDto, NOT_READY, READY } from './health.dto.js';

@ApiTags('operations')
@Controller()
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly broker: BrokerIndicator,
    @Inject(Readiness) private readonly readiness: Readiness,
  ) {}

  @Get('health')
  @Access('public')
  @ApiOperation({
    summary: 'Readiness of this node',
    description: 'Of this node only, never waits. Liveness is a TCP connect, not this route.',
  })
  @ApiAnswer({ status: 200, description: 'Can serve now.', type: HealthDto, examples: READY })
  @ApiAnswer({
    status: 503,
    description: 'Cannot serve now: no leader, behind, no quorum, stopped, or shutting down.',
    type: HealthDto,
    examples: NOT_READY,
  })
  async check(@Res() reply: FastifyReply): Promise<void> {
    const raft = this.readiness.raft();
    const ready = await this.isUp(raft);
    const status = ready ? 'healthy' : 'settling';
    sendJson(reply, ready ? 200 : 503, { status, engine: 'raft', version: BROKER_VERSION, raft });
  }

  private async isUp(raft: RaftHealth): Promise<boolean> {
    try {
      const result = await this.health.check([() => this.broker.check(raft)]);
      return result.status === 'ok';
    } catch (error) {
      if (error instanceof ServiceUnavailableException) return false;
      throw error;
    }
  }
}
