/** Locks and semaphores over the key-value store. */
import { Module } from '@nestjs/common';
import { StatePlaneModule } from '../preparation/state-plane.module.js';
import { RaftModule } from '../raft/index.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { LocksController } from './locks.controller.js';
import { LocksService } from './locks.service.js';

@Module({
  imports: [RaftModule, StatePlaneModule, TenancyModule],
  controllers: [LocksController],
  providers: [LocksService],
})
export class LocksModule {}
