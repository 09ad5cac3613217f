/** The key-value store: calls, single keys by path, and browsing. */
import { Module } from '@nestjs/common';
import { StatePlaneModule } from '../preparation/state-plane.module.js';
import { RaftModule } from '../raft/index.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { KvConsoleController } from './kv-console.controller.js';
import { KvConsoleService } from './kv-console.service.js';
import { KvTransactionPlug } from './kv-transaction-plug.js';
import { KvController } from './kv.controller.js';
import { KvService } from './kv.service.js';

@Module({
  imports: [RaftModule, StatePlaneModule, TenancyModule],
  controllers: [KvController, KvConsoleController],
  providers: [KvService, KvConsoleService, KvTransactionPlug],
})
export class KvModule {}
