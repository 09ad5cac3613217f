/** The words around the routes in the API document: what the API is, and its tags. */

export const DESCRIPTION = `Messages live in **queues**; a queue has any number of **partitions**, each an ordered lane. A pop
takes a **lease** on the partitions it claims; an ack settles what was delivered and gives the lease back.

* Bodies are JSON in UTF-8. \`Content-Type\` is not checked. Unknown fields are ignored.
* Errors are \`{"error","code"}\` unless a route shows another shape. Only \`/ack\` and \`/push\` answer
  per item: status 200 or 201 does not mean that every item succeeded.
* A 5xx on a write means that it may have been applied: repeat it with the same \`transactionId\` or lease.
* An unknown path is 404 \`no_such_route\`, and so is a known one with another method. On push, pop, ack, lease,
  transaction, keys, locks, timers, ephemeral calls, membership, \`/auth\` and probes that is 405 with \`Allow\`.
* With \`JWT_ENABLED=true\` every route that is not public takes \`Authorization: Bearer <token>\`. Access
  levels are role sets: \`write-only\` can push and nothing else.

Try it in this order: configure, push, pop, ack. The examples fit together on a fresh broker.`;

export const TAGS = [
  { name: 'push', description: 'Writing messages.' },
  { name: 'consume', description: 'Pop, acknowledge, extend a lease.' },
  { name: 'transactions', description: 'Several operations, all or none.' },
  { name: 'traces', description: 'What happened to a message, as its workers tell it.' },
  { name: 'queues', description: 'Configure, delete and look at queues.' },
  { name: 'ephemeral', description: 'Queues that live in memory only.' },
  { name: 'kv', description: 'Keys and values, versions as fencing tokens.' },
  { name: 'locks', description: 'Locks and semaphores.' },
  { name: 'timers', description: 'Messages at a later time.' },
  { name: 'streams', description: 'What the windowed-aggregation SDK needs.' },
  { name: 'operations', description: 'Health and metrics of this node.' },
] as const;
