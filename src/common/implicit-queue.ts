/**
 * Options of queues that spring into being (messages.md §3, column "created implicitly"). They travel
 * in the command, because code defaults may differ between the nodes of a rolling upgrade.
 */
export const IMPLICIT_QUEUE = { leaseTime: 60, retryLimit: 3, dedupWindowSeconds: 3600 } as const;
