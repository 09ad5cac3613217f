/** The list of modules; nothing else. */
import { Module, type DynamicModule } from '@nestjs/common';
import { AdminModule } from './admin/admin.module.js';
import { ControlsModule } from './admin/controls/controls.module.js';
import { AuthModule } from './auth/auth.module.js';
import type { BuiltAuth } from './auth/build.js';
import type { QueenConfig } from './config/index.js';
import { ConfigModule } from './config/index.js';
import { ConsumerGroupsModule } from './consumer-groups/consumer-groups.module.js';
import { CoordinatorsModule } from './coordinators/index.js';
import { DashboardModule } from './dashboard/dashboard.module.js';
import { DlqModule } from './dlq/dlq.module.js';
import { EphemeralModule } from './ephemeral/ephemeral.module.js';
import { HealthModule } from './health/health.module.js';
import { StatusModule } from './health/status.module.js';
import type { HttpParts } from './http/http.module.js';
import { HttpModule } from './http/http.module.js';
import { KvModule } from './kv/kv.module.js';
import { LocksModule } from './locks/locks.module.js';
import { LeasesModule } from './leases/leases.module.js';
import type { Logger } from './logging/index.js';
import { LoggingModule } from './logging/index.js';
import { MembershipModule } from './membership/membership.module.js';
import { MessagesModule } from './messages/messages.module.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { QueuesModule } from './queues/queues.module.js';
import { RaftModule } from './raft/index.js';
import { TracesModule } from './traces/traces.module.js';
import { TransactionsModule } from './transactions/transactions.module.js';
import { StreamsModule } from './streams/streams.module.js';
import { TimersModule } from './timers/timers.module.js';

export interface AppParts {
  readonly config: QueenConfig;
  readonly logger: Logger;
  readonly http: HttpParts;
  /** Null when no tokens are checked. */
  readonly auth: BuiltAuth | null;
}

@Module({})
export class AppModule {
  static forRoot(parts: AppParts): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(parts.config),
        LoggingModule.forRoot(parts.logger),
        HttpModule.forRoot(parts.http),
        AuthModule.forRoot(parts.auth),
        RaftModule,
        CoordinatorsModule,
        QueuesModule,
        LeasesModule,
        TransactionsModule,
        TracesModule,
        ConsumerGroupsModule,
        DlqModule,
        MessagesModule,
        EphemeralModule,
        KvModule,
        LocksModule,
        TimersModule,
        StreamsModule,
        HealthModule,
        StatusModule,
        MetricsModule,
        AdminModule,
        ControlsModule,
        MembershipModule,
        DashboardModule,
      ],
    };
  }
}
