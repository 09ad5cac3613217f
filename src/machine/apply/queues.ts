/**
 * Queues coming, changing and going: implicit creation, Configure, DeleteQueue (spec §2.2, §3, §9).
 */
import type {
  ConfigureCommand,
  ConfigureOutcome,
  DeleteQueueCommand,
  DeleteQueueOutcome,
  ImplicitDefaults,
  QueueOptions,
} from '../commands/catalogue.js';
import { CommandKind } from '../commands/catalogue.js';
import { QUEUE_OPTION_NAMES } from '../commands/queue-options.js';
import type { QueueRow } from '../tables/tables.js';
import type { ApplyContext } from './context.js';
import { noteRecognition } from './recognition.js';

/**
 * Options of a queue that springs into being (§3, second default column). Labels come from the
 * dotted name: part 1 is the namespace, part 2 the task; without a dot the namespace is the name.
 */
export function implicitOptions(name: string, defaults: ImplicitDefaults): QueueOptions {
  const parts = name.split('.');
  return {
    leaseTime: defaults.leaseTime,
    retryLimit: defaults.retryLimit,
    deadLetterQueue: true,
    dlqAfterMaxRetries: true,
    dedupWindowSeconds: defaults.dedupWindowSeconds,
    delayedProcessing: 0,
    windowBuffer: 0,
    retentionEnabled: false,
    retentionSeconds: 0,
    completedRetentionSeconds: 0,
    maxWaitTimeSeconds: 0,
    encryptionEnabled: false,
    retentionSinkHold: '',
    retentionSinkHoldMaxSeconds: 0,
    namespace: parts[0] ?? '',
    task: parts[1] ?? '',
    priority: 0,
    retryDelay: 1000,
    ttl: 3600,
    maxSize: 0,
    minPopWaitTime: 0,
  };
}

/** Creates a queue of the command's tenant with the options of an implicit creation. */
export function createImplicitQueue(
  context: ApplyContext,
  name: string,
  defaults: ImplicitDefaults,
): QueueRow {
  return createQueue(context, name, implicitOptions(name, defaults));
}

function createQueue(context: ApplyContext, name: string, options: QueueOptions): QueueRow {
  const { names, queues } = context.tables;
  const tenant = names.ensureTenant(context.tenantUuid);
  const queue = queues.create(tenant, name, context.now, options);
  context.digest.bytes(context.tenantUuid);
  context.digest.text(name);
  foldQueue(context, queue);
  context.effects.queueCreated(queue.id);
  return queue;
}

/** Merge keeps what is not named; replace starts from the defaults; id and createdAt stay. */
export function applyConfigure(context: ApplyContext, command: ConfigureCommand): ConfigureOutcome {
  const { queues } = context.tables;
  const tenant = context.tenant();
  const existing = tenant === undefined ? undefined : queues.find(tenant, command.queue);
  if (existing === undefined) {
    const options = { ...command.defaults, ...command.options };
    const queue = createQueue(context, command.queue, options);
    queue.configured = true;
    queues.touch(queue);
    context.effects.queueConfigured(queue.id);
    return { kind: CommandKind.Configure, queueId: queue.id, created: true };
  }
  const base = command.replace ? command.defaults : existing.options;
  const next = { ...base, ...command.options };
  noteRecognition(existing, next, context.now);
  existing.options = next;
  existing.optionsVersion += 1;
  existing.configured = true;
  queues.touch(existing);
  foldQueue(context, existing);
  context.effects.queueConfigured(existing.id);
  return { kind: CommandKind.Configure, queueId: existing.id, created: false };
}

/** One O(1) entry: the name is unlinked, what hung on it is purged node-locally in slices. */
export function applyDeleteQueue(
  context: ApplyContext,
  command: DeleteQueueCommand,
): DeleteQueueOutcome {
  const { queues } = context.tables;
  const tenant = context.tenant();
  const queue = tenant === undefined ? undefined : queues.find(tenant, command.queue);
  if (queue === undefined) return { kind: CommandKind.DeleteQueue, existed: false };
  queues.remove(queue);
  context.digest.word(queue.id);
  context.effects.queueDeleted(queue.id);
  return { kind: CommandKind.DeleteQueue, existed: true };
}

function foldQueue(context: ApplyContext, queue: QueueRow): void {
  const { digest } = context;
  digest.word(queue.id);
  digest.word(queue.optionsVersion);
  digest.number(queue.recognisedSince);
  for (const name of QUEUE_OPTION_NAMES) {
    const value = queue.options[name];
    if (typeof value === 'string') digest.text(value);
    else digest.number(Number(value));
  }
}
