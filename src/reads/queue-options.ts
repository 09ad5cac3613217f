/** The options of a queue as reads show them (messages.md §3): 20 keys in the wire's order. */
import type { QueueOptions } from '../machine/commands/catalogue.js';

/** What a stored 0 (implicitly created queue) reads as. */
const SINK_HOLD_DEFAULT_SECONDS = 604_800;

export function shownOptions(options: QueueOptions): Record<string, number | boolean | string> {
  return {
    priority: options.priority,
    leaseTime: options.leaseTime,
    retryLimit: options.retryLimit,
    retryDelay: options.retryDelay,
    maxSize: options.maxSize,
    maxQueueSize: options.maxSize,
    ttl: options.ttl,
    deadLetterQueue: options.deadLetterQueue,
    dlqAfterMaxRetries: options.dlqAfterMaxRetries,
    delayedProcessing: options.delayedProcessing,
    windowBuffer: options.windowBuffer,
    retentionSeconds: options.retentionSeconds,
    completedRetentionSeconds: options.completedRetentionSeconds,
    retentionEnabled: options.retentionEnabled,
    encryptionEnabled: options.encryptionEnabled,
    maxWaitTimeSeconds: options.maxWaitTimeSeconds,
    minPopWaitTime: options.minPopWaitTime,
    dedupWindowSeconds: options.dedupWindowSeconds,
    retentionSinkHold: options.retentionSinkHold,
    retentionSinkHoldMaxSeconds: options.retentionSinkHoldMaxSeconds || SINK_HOLD_DEFAULT_SECONDS,
  };
}
