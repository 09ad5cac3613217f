/** The parts of the broker's answers that pages read. */
export interface Host {
  readonly cpuPct: number | null;
  readonly cpus: number;
  readonly rssBytes: number;
  readonly memLimitBytes: number;
  readonly disk: {
    readonly usedPct: number | null;
    readonly usedBytes: number | null;
    readonly totalBytes: number | null;
    readonly highPct: number;
    readonly writesRefused: boolean;
  };
}

export interface Member {
  readonly nodeId: number;
  readonly role: string;
  readonly state: string;
  readonly reachable: boolean;
  readonly local: boolean;
  readonly raftAddr: string | null;
  readonly httpAddr: string | null;
  readonly hostname: string | null;
  readonly error: string | null;
  readonly matchIndex: number | null;
  readonly heartbeatAgeMs: number | null;
  readonly lagEntries: number | null;
  readonly appliedIndex?: number;
  readonly committedIndex?: number;
  readonly durableIndex?: number;
  readonly lastLogIndex?: number;
  readonly inflight?: number;
  readonly version?: string;
  readonly uptimeSeconds?: number;
  readonly log?: { readonly files: number; readonly bytes: number };
  readonly host?: Host;
}

export interface MembersAnswer {
  readonly clusterId: string;
  readonly leaderId: number | null;
  readonly term: number;
  readonly self: number;
  readonly voters: number;
  readonly members: readonly Member[];
}

export interface Overview {
  readonly queues: number;
  readonly partitions: number;
  readonly messages: Readonly<
    Record<'total' | 'pending' | 'processing' | 'completed' | 'deadLetter', number>
  >;
  readonly lag: { readonly time: { readonly max: number } };
  readonly statsAge: number;
}

export type Options = Readonly<Record<string, number | boolean | string>>;

export interface QueueRow {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly task: string;
  readonly partitions: number;
  readonly messages: Readonly<
    Record<'total' | 'pending' | 'processing' | 'completed' | 'deadLetter', number>
  >;
  readonly retainedBytes: number;
  readonly options: Options;
  readonly createdAt: string;
}

export interface PartitionRow {
  readonly id: string;
  readonly name: string;
  readonly messages: Readonly<
    Record<'total' | 'pending' | 'processing' | 'completed' | 'deadLetter', number>
  >;
  readonly oldestMessage: string | null;
  readonly newestMessage: string | null;
  readonly lastActivity: string | null;
  readonly retainedBytes: number;
}

export interface QueueStatus {
  readonly queue: {
    readonly id: string;
    readonly name: string;
    readonly namespace: string;
    readonly task: string;
    readonly priority: number;
    readonly createdAt: string;
    readonly config: Options;
  };
  readonly partitions: readonly PartitionRow[];
  readonly partitionsTruncated?: true;
  readonly totals: {
    readonly messages: Readonly<
      Record<'total' | 'pending' | 'processing' | 'completed' | 'deadLetter', number>
    >;
  };
}

export interface GroupRow {
  readonly name: string;
  readonly queueName: string;
  readonly members: number;
  readonly partitionsWithLag: number;
  readonly totalLag: number;
  readonly maxTimeLag: number;
  readonly state: 'Stable' | 'Lagging' | 'Dead';
  readonly subscriptionMode: string | null;
  readonly subscriptionTimestamp: string | null;
  readonly conflation: boolean;
}

export interface OpsPoint {
  readonly bucket: string;
  readonly queueName: string;
  readonly pushMessages: number;
  readonly popMessages: number;
  readonly popEmpty: number;
  readonly ackSuccess: number;
  readonly ackFailed: number;
  readonly partitionsCreated: number;
  readonly partitionsDeleted: number;
  readonly avgLagMs: number | null;
  readonly maxLagMs: number | null;
  readonly pushPerSecond: number;
  readonly popPerSecond: number;
  readonly ackPerSecond: number;
  readonly parkedCount: number;
}

export interface OpsAnswer {
  readonly bucketMinutes: number;
  readonly series: readonly OpsPoint[];
  readonly queues: readonly string[];
}

export interface MessageRow {
  readonly id: string;
  readonly transactionId: string;
  readonly payload: unknown;
  readonly createdAt: string;
  readonly offset: number;
  readonly queue: string;
  readonly partition: string;
  readonly partitionId: string;
  readonly status: string;
  readonly busStatus: { readonly consumedBy: number; readonly totalGroups: number } | null;
  readonly payloadAvailable: boolean;
  readonly isEncrypted: boolean;
}

export interface MessageDetail {
  readonly id: string;
  readonly transactionId: string;
  readonly payload: unknown;
  readonly traceId: string | null;
  readonly producerSub: string | null;
  readonly createdAt: string;
  readonly partitionId: string;
  readonly partition: string;
  readonly queue: string;
  readonly status: string;
  readonly errorMessage: string | null;
  readonly retryCount: number;
  readonly isEncrypted: boolean;
  readonly queueConfig: Options;
  readonly consumerGroups: readonly {
    readonly name: string;
    readonly committed: number;
    readonly consumed: boolean;
    readonly leaseExpiresAt: string | null;
  }[];
}

export interface DeadLetter {
  readonly id: string;
  readonly queue: string;
  readonly partition: string;
  readonly partitionId: string;
  readonly consumerGroup: string;
  readonly offset: number;
  readonly messageId: string | null;
  readonly transactionId: string;
  readonly payload: unknown;
  readonly errorMessage: string;
  readonly retryCount: number;
  readonly failedAt: string;
}

export interface TraceEvent {
  readonly traceId: string;
  readonly partitionId: string | null;
  readonly transactionId: string;
  readonly consumerGroup: string | null;
  readonly eventType: string;
  readonly data: unknown;
  readonly worker: string | null;
  readonly names: readonly string[];
  readonly createdAt: string;
  readonly queue_name: string | null;
  readonly partition_name: string | null;
}

export interface KvRow {
  readonly key: string;
  readonly value?: unknown;
  readonly version: number;
  readonly expiresAt: string | null;
  readonly updatedAt: string;
  readonly expired?: boolean;
}

export interface KvPage {
  readonly rows: readonly KvRow[];
  readonly truncated: boolean;
  readonly nextAfter?: string | null;
  readonly next?: string | null;
  readonly bytes: number;
}

/** Where the next page of a KV list starts; null at the end. */
export const nextOf = (page: KvPage): string | null =>
  page.truncated ? (page.nextAfter ?? page.next ?? page.rows.at(-1)?.key ?? null) : null;
