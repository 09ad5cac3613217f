/** Streams: what the windowed-aggregation SDK needs of the broker. */
import { Module } from '@nestjs/common';
import { RaftModule } from '../raft/index.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { StreamsController } from './streams.controller.js';
import { StreamsService } from './streams.service.js';

@Module({
  imports: [RaftModule, TenancyModule],
  controllers: [StreamsController],
  providers: [StreamsService],
})
export class StreamsModule {}
