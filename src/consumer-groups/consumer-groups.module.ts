/** Consumer groups: list, detail, lag, positions, seek, subscription, delete. */
import { Module } from '@nestjs/common';
import { RaftModule } from '../raft/index.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { ConsumerGroupsController } from './consumer-groups.controller.js';
import { GroupChangesController } from './group-changes.controller.js';
import { GroupChangesService } from './group-changes.service.js';
import { GroupLagService } from './group-lag.service.js';
import { PositionsService } from './positions.service.js';

@Module({
  imports: [RaftModule, TenancyModule],
  controllers: [ConsumerGroupsController, GroupChangesController],
  providers: [GroupChangesService, GroupLagService, PositionsService],
})
export class ConsumerGroupsModule {}
