/** What operators look at: the raft state of this node. */
import { Module } from '@nestjs/common';
import { RaftModule } from '../raft/index.js';
import { RaftViewController } from './raft-view.controller.js';
import { RaftViewService } from './raft-view.service.js';

@Module({
  imports: [RaftModule],
  controllers: [RaftViewController],
  providers: [RaftViewService],
})
export class AdminModule {}
