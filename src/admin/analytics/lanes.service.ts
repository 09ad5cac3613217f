/** Analytics of what is stored now (admin.md §1.6): live lanes by queue, causes of dead letters. */
import { HttpException, Inject, Injectable } from '@nestjs/common';
import { systemClock } from '../../config/index.js';
import { lenientInteger, textOrUndefined, type QueryValues } from '../../http/query.js';
import { consumerGroupId } from '../../common/ids.js';
import { newestLetters } from '../../reads/dead-letters.js';
import { figuresOf } from '../../reads/figure-cache.js';
import { findQueue, queuesOf } from '../../reads/partition-identity.js';
import { Groups } from '../../raft/index.js';
import { microsText, millisText } from '../rows/windows.js';
import { foldSignatures, type LetterSample } from './dlq-signatures.js';
import type { DlqSignaturesDto, LivenessDto } from './series.dto.js';
import { compare } from './queue-series.service.js';
import { labelFilter } from './workload.service.js';

const LIVENESS_LIMIT = { fallback: 20, min: 1, max: 200 };
const SIGNATURE_LIMIT = { fallback: 200, min: 1, max: 1000 };

@Injectable()
export class LanesService {
  constructor(@Inject(Groups) private readonly groups: Groups) {}

  async liveness(tenant: Uint8Array, query: QueryValues): Promise<LivenessDto> {
    const group = this.groups.ofTenant(tenant);
    const queues = queuesOf(group.tables, tenant).filter(labelFilter(query));
    const { rows } = await figuresOf(group).read(queues);
    const sorted = [...rows].sort(
      (a, b) =>
        b.queue.partitionCount - a.queue.partitionCount || compare(a.queue.name, b.queue.name),
    );
    return {
      capturedAt: millisText(systemClock.nowMs()),
      rows: sorted
        .slice(0, lenientInteger(query, 'limit', LIVENESS_LIMIT))
        .map(({ queue, figures }) => ({
          queue: queue.name,
          namespace: queue.options.namespace,
          task: queue.options.task,
          partitions: queue.partitionCount,
          ...{ live1h: figures.liveHour, live24h: figures.liveDay, live7d: figures.liveWeek },
          created24h: figures.createdDay,
          oldestWriteAt: timeOrNull(figures.oldestWriteAt),
          newestWriteAt: timeOrNull(figures.newestWriteAt),
          pending: figures.rawPending,
        })),
    };
  }

  async signatures(tenant: Uint8Array, query: QueryValues): Promise<DlqSignaturesDto> {
    const name = textOrUndefined(query, 'queue');
    if (name === undefined) throw new HttpException('queue required', 400);
    const group = this.groups.ofTenant(tenant);
    const queue = findQueue(group.tables, tenant, name);
    if (queue === undefined) return foldSignatures(name, 0, []);
    const limit = lenientInteger(query, 'limit', SIGNATURE_LIMIT);
    const letters: LetterSample[] = [];
    const view = await group.view();
    try {
      const all = { from: null, to: null };
      for await (const row of newestLetters(view, [queue.id], all)) {
        const groupName = group.tables.names.groupName(consumerGroupId(row.groupId));
        letters.push({ row, group: groupName });
        if (letters.length >= limit) break;
      }
    } finally {
      await view.close();
    }
    return foldSignatures(name, queue.deadLetters, letters);
  }
}

const timeOrNull = (micros: number): string | null => (micros === 0 ? null : microsText(micros));
