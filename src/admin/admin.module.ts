/**
 * What operators look at: the raft state, status and sums of the broker, analytics from minute rows that
 * every node keeps of itself.
 */
import { Module } from '@nestjs/common';
import { RaftModule } from '../raft/index.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { AnalyticsController } from './analytics/analytics.controller.js';
import { LanesService } from './analytics/lanes.service.js';
import { ProcessMetricsController } from './analytics/process-metrics.controller.js';
import { ProcessMetricsService } from './analytics/process-metrics.service.js';
import { QueueSeriesService } from './analytics/queue-series.service.js';
import { WorkloadService } from './analytics/workload.service.js';
import { RaftMembersService } from './raft-members.service.js';
import { RaftViewController } from './raft-view.controller.js';
import { RaftViewService } from './raft-view.service.js';
import { ResourcesController } from './resources/resources.controller.js';
import { ResourcesService } from './resources/resources.service.js';
import { RowCollector } from './rows/row-collector.service.js';
import { RowGather } from './rows/row-gather.service.js';
import { BrokerStatusController } from './status/status.controller.js';
import { StatusService } from './status/status.service.js';

@Module({
  imports: [RaftModule, TenancyModule],
  controllers: [
    RaftViewController,
    ResourcesController,
    BrokerStatusController,
    AnalyticsController,
    ProcessMetricsController,
  ],
  providers: [
    RaftViewService,
    RaftMembersService,
    ResourcesService,
    RowCollector,
    RowGather,
    StatusService,
    QueueSeriesService,
    WorkloadService,
    LanesService,
    ProcessMetricsService,
  ],
})
export class AdminModule {}
