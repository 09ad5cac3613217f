/** Which queues a listing shows: label filters, a search text, a page. All optional. */
import type { QueryValues } from '../http/query.js';
import { lenientInteger, textOrUndefined } from '../http/query.js';
import type { QueueRow } from '../machine/tables/tables.js';

export interface QueueFilter {
  readonly namespace: string | undefined;
  readonly task: string | undefined;
  /** Part of the name, without regard to case. */
  readonly search: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

export function parseQueueFilter(query: QueryValues): QueueFilter {
  const all = Number.MAX_SAFE_INTEGER;
  return {
    namespace: textOrUndefined(query, 'namespace'),
    task: textOrUndefined(query, 'task'),
    search: textOrUndefined(query, 'search')?.toLowerCase(),
    limit: lenientInteger(query, 'limit', { fallback: all, min: 1, max: all }),
    offset: lenientInteger(query, 'offset', { fallback: 0, min: 0, max: all }),
  };
}

export function selectQueues(queues: readonly QueueRow[], filter: QueueFilter): QueueRow[] {
  const { namespace, task, search, limit, offset } = filter;
  return queues
    .filter(
      ({ name, options }) =>
        (namespace === undefined || options.namespace === namespace) &&
        (task === undefined || options.task === task) &&
        (search === undefined || name.toLowerCase().includes(search)),
    )
    .slice(offset, offset + limit);
}
