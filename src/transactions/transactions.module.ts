/** Transactions: acks, pushes, positions, key-value and timer operations in one log entry. */
import { Module } from '@nestjs/common';
import { PreparationModule } from '../preparation/preparation.module.js';
import { RaftModule } from '../raft/index.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { TransactionsController } from './transactions.controller.js';
import { TransactionsService } from './transactions.service.js';

@Module({
  imports: [RaftModule, TenancyModule, PreparationModule],
  controllers: [TransactionsController],
  providers: [TransactionsService],
})
export class TransactionsModule {}
