/** Queues: push, configure, delete, and reads of their state. */
import { Module } from '@nestjs/common';
import { RaftModule } from '../raft/index.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { PushController } from './push.controller.js';
import { PushService } from './push.service.js';
import { QueueReadsService } from './queue-reads.service.js';
import { QueueStatusController } from './queue-status.controller.js';
import { QueuesController } from './queues.controller.js';
import { QueuesService } from './queues.service.js';

@Module({
  imports: [RaftModule, TenancyModule],
  controllers: [PushController, QueuesController, QueueStatusController],
  providers: [PushService, QueuesService, QueueReadsService],
})
export class QueuesModule {}
