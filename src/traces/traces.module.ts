/** Traces: events that workers note about messages. */
import { Module } from '@nestjs/common';
import { RaftModule } from '../raft/index.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { TracesController } from './traces.controller.js';
import { TracesService } from './traces.service.js';

@Module({
  imports: [RaftModule, TenancyModule],
  controllers: [TracesController],
  providers: [TracesService],
})
export class TracesModule {}
