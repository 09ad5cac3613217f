/** Members of the cluster: who they are, and the operator's changes. */
import { Module } from '@nestjs/common';
import { RaftModule } from '../raft/index.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { BackupController } from './backup.controller.js';
import { MembershipController } from './membership.controller.js';
import { MembershipService } from './membership.service.js';

@Module({
  imports: [RaftModule, TenancyModule],
  controllers: [MembershipController, BackupController],
  providers: [MembershipService],
})
export class MembershipModule {}
