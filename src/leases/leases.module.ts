/** Consumption: pop, ack, lease extend. */
import { Module } from '@nestjs/common';
import { RaftModule } from '../raft/index.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { AckService } from './ack.service.js';
import { DeliveredIds } from './delivered-ids.js';
import { LeaseService } from './lease.service.js';
import { LeasesController } from './leases.controller.js';
import { PopService } from './pop.service.js';

const DELIVERED_IDS_BYTES = 64 * 1024 * 1024;

@Module({
  imports: [RaftModule, TenancyModule],
  controllers: [LeasesController],
  providers: [
    PopService,
    AckService,
    LeaseService,
    { provide: DeliveredIds, useFactory: () => new DeliveredIds(DELIVERED_IDS_BYTES) },
  ],
})
export class LeasesModule {}
