/** Consumption: pop, ack, lease extend. */
import { Module } from '@nestjs/common';
import { RaftModule } from '../raft/index.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { AckService } from './ack.service.js';
import { PreparationModule } from '../preparation/preparation.module.js';
import { LeaseService } from './lease.service.js';
import { LeasesController } from './leases.controller.js';
import { PopService } from './pop.service.js';

@Module({
  imports: [RaftModule, TenancyModule, PreparationModule],
  controllers: [LeasesController],
  providers: [PopService, AckService, LeaseService],
})
export class LeasesModule {}
