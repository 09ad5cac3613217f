/** Provides the raft groups of this process, opened from the configuration. */
import { Module } from '@nestjs/common';
import { QUEEN_CONFIG } from '../config/index.js';
import { LOGGER } from '../logging/index.js';
import { Groups } from './groups.service.js';
import { openGroups } from './open-groups.js';

@Module({
  providers: [{ provide: Groups, inject: [QUEEN_CONFIG, LOGGER], useFactory: openGroups }],
  exports: [Groups],
})
export class RaftModule {}
