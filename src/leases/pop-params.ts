/**
 * Query parameters of the three pop routes (messages.md §5.1) turned into one request. Pop routes are
 * strict: a value that does not parse is 400 in plain text; what parses is clamped.
 */
import { isRegistrationNew, parseStartInstant } from '../preparation/start-policy.js';
import type { QueryValues } from '../http/query.js';
import { strictBoolean, strictInt32, strictUint, textOrUndefined } from '../http/query.js';
import { QUEUE_MODE_GROUP } from '../machine/tables/tables.js';
import type { PopRequest } from '../raft/index.js';

const DEFAULT_BATCH = 200;
const MAX_PARTITIONS = 64;
const MAX_TIMEOUT_MS = 60_000;

export interface PopTarget {
  readonly tenant: Uint8Array;
  readonly scope: PopRequest['scope'];
  readonly queue: string;
  readonly partition: string;
}

export interface PopDefaults {
  readonly timeoutMs: number;
  readonly subscriptionMode: 'new' | 'all';
}

export interface ParsedPop {
  readonly request: PopRequest;
  readonly timeoutMs: number;
}

export function parsePop(target: PopTarget, query: QueryValues, defaults: PopDefaults): ParsedPop {
  const group = textOrUndefined(query, 'consumerGroup') ?? QUEUE_MODE_GROUP;
  const conflation = strictBoolean(query, 'conflation') ?? null;
  const batch = Math.max(strictInt32(query, 'batch', DEFAULT_BATCH), 1);
  const asked = strictInt32(query, 'partitions', conflation === true ? batch : 1);
  const autopilot = strictBoolean(query, 'autopilot') ?? false;
  const commit = strictBoolean(query, 'commitOnDelivery') ?? false;
  const autoAck = strictBoolean(query, 'autoAck') ?? false;
  const wait = strictBoolean(query, 'wait') ?? false;
  const timeoutMs = strictUint(query, 'timeout') ?? defaults.timeoutMs;
  const discovery = target.scope === 'discovery';
  return {
    timeoutMs: Math.min(Math.max(timeoutMs, 1), MAX_TIMEOUT_MS),
    request: {
      ...target,
      namespace: discovery ? (query['namespace'] ?? '') : '',
      task: discovery ? (query['task'] ?? '') : '',
      group,
      maxMessages: batch,
      maxPartitions:
        target.scope === 'partition' ? 1 : Math.min(Math.max(asked, 1), MAX_PARTITIONS),
      leaseSeconds: Math.max(strictInt32(query, 'leaseSeconds', 0), 0),
      commitOnDelivery: commit || autoAck,
      wait: wait && !discovery,
      intent: intent(query, group, defaults),
      conflation,
      autopilot:
        autopilot && target.scope === 'queue'
          ? { partitions: query['partitions'] === undefined, batch: query['batch'] === undefined }
          : null,
    },
  };
}

/** Where an unregistered group starts: a valid instant beats the mode; queue mode has no choice. */
function intent(query: QueryValues, group: string, defaults: PopDefaults): PopRequest['intent'] {
  if (group === QUEUE_MODE_GROUP) return { mode: 'all', instantMicros: 0 };
  const from = parseStartInstant(query['subscriptionFrom']);
  if (from === 'now') return { mode: 'new', instantMicros: 0 };
  if (from !== null) return { mode: 'timestamp', instantMicros: from };
  const mode = query['subscriptionMode'] ?? defaults.subscriptionMode;
  return { mode: isRegistrationNew(mode) ? 'new' : 'all', instantMicros: 0 };
}

/** Refusal text of §5.2, or null. */
export function popRefusal(request: PopRequest): string | null {
  if (request.scope === 'discovery' && request.namespace === '' && request.task === '') {
    return 'namespace or task is required';
  }
  if (request.conflation !== true) return null;
  if (request.group === QUEUE_MODE_GROUP) return 'conflation needs a consumerGroup';
  if (request.commitOnDelivery) {
    return 'conflation cannot be combined with commitOnDelivery or autoAck';
  }
  return null;
}
