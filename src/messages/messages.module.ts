/** Messages: browse them, and read partitions by offset. */
import { Module } from '@nestjs/common';
import { RaftModule } from '../raft/index.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { FetchController } from './fetch.controller.js';
import { FetchService } from './fetch.service.js';
import { MessagesController } from './messages.controller.js';
import { MessagesService } from './messages.service.js';

@Module({
  imports: [RaftModule, TenancyModule],
  controllers: [MessagesController, FetchController],
  providers: [MessagesService, FetchService],
})
export class MessagesModule {}
