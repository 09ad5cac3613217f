/** `GET /health`: Terminus runs the check; the body is the one clients of this API know. */
import { Controller, Get, Res, ServiceUnavailableException } from '@nestjs/common';
import { HealthCheckService } from '@nestjs/terminus';
import type { FastifyReply } from 'fastify';
import { Access } from '../auth/access.js';
import { BROKER_VERSION } from '../common/version.js';
import { sendJson } from '../http/answers.js';
import { BrokerIndicator } from './broker.indicator.js';

@Controller()
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly broker: BrokerIndicator,
  ) {}

  @Get('health')
  @Access('public')
  async check(@Res() reply: FastifyReply): Promise<void> {
    const ready = await this.isUp();
    const body = {
      status: ready ? 'healthy' : 'settling',
      engine: 'raft',
      version: BROKER_VERSION,
      raft: this.broker.raft(),
    };
    sendJson(reply, ready ? 200 : 503, body);
  }

  private async isUp(): Promise<boolean> {
    try {
      const result = await this.health.check([() => this.broker.check()]);
      return result.status === 'ok';
    } catch (error) {
      if (error instanceof ServiceUnavailableException) return false;
      throw error;
    }
  }
}
