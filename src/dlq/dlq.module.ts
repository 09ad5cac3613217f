/** Dead letters: list, purge, replay, and what the message routes do to them. */
import { Module } from '@nestjs/common';
import { RaftModule } from '../raft/index.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { DeadLettersService } from './dead-letters.service.js';
import { DlqController } from './dlq.controller.js';
import { ReplayService } from './replay.service.js';

@Module({
  imports: [RaftModule, TenancyModule],
  controllers: [DlqController],
  providers: [DeadLettersService, ReplayService],
})
export class DlqModule {}
