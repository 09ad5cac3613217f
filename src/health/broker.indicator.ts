/** The readiness of this node as an indicator of Terminus: `up` means it can serve clients now. */
import { Inject, Injectable } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import type { RaftHealth } from '../raft/index.js';
import { Readiness } from '../raft/index.js';

@Injectable()
export class BrokerIndicator {
  constructor(
    @Inject(HealthIndicatorService) private readonly indicators: HealthIndicatorService,
    @Inject(Readiness) private readonly readiness: Readiness,
  ) {}

  check(raft: RaftHealth): HealthIndicatorResult {
    const indicator = this.indicators.check('raft');
    return this.readiness.isReady(raft) ? indicator.up() : indicator.down();
  }
}
