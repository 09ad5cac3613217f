/**
 * Where each row of messages.md §8, §10 to §13, §15 and §16 is tested; the other sections: row-index.ts.
 * `rows.spec.ts` holds the list against the files, so that it cannot go stale.
 */
import type { Row } from './row-index.js';

const E2E = 'test/e2e';
const ROWS = 'test/e2e/messages';
const transaction = `${E2E}/transaction.spec.ts`;
const positions = `${E2E}/transaction-positions.spec.ts`;
const rows8 = `${ROWS}/rows-8.spec.ts`;
const groups = `${E2E}/consumer-groups.spec.ts`;
const rows10 = `${ROWS}/rows-10.spec.ts`;
const messages = `${E2E}/messages.spec.ts`;
const dlq = `${E2E}/dlq.spec.ts`;
const rows11 = `${ROWS}/rows-11.spec.ts`;
const fetch = `${E2E}/fetch.spec.ts`;
const rows12 = `${ROWS}/rows-12.spec.ts`;
const traces = `${E2E}/traces.spec.ts`;
const rows13 = `${ROWS}/rows-13.spec.ts`;
const rows15 = `${ROWS}/rows-15.spec.ts`;
const first = `${E2E}/guarantees.spec.ts`;
const effects = `${E2E}/guarantees-effects.spec.ts`;
const refusals = `${E2E}/guarantees-refusals.spec.ts`;
const cluster = 'test/cluster/guarantees.spec.ts';

/** Beside what row-index.ts names of these sections. */
const SEMANTICS: readonly Row[] = [
  ['2.7', 'what a status does', `${ROWS}/rows-2-7.spec.ts`, '2.7 what a status does to the span'],
  ['2.7', 'whose policy', `${ROWS}/rows-2-7.spec.ts`, '2.7 the stored policy'],
  ['2.8', 'every reader', `${ROWS}/rows-2-8.spec.ts`, '2.8 delayedProcessing: nothing before'],
  ['2.8', 'head of line', `${ROWS}/rows-2-8.spec.ts`, '2.8 delayedProcessing: head of line'],
  ['2.8', 'window', `${ROWS}/rows-2-8.spec.ts`, '2.8 windowBuffer: nothing at all'],
  ['2.9', 'ages and rules', `${ROWS}/rows-2-9.spec.ts`, "'2.9 %s'"],
  ['2.9', 'gap and seal', `${ROWS}/rows-2-9.spec.ts`, '2.9 nothing left: the next pop seals'],
  ['2.9', 'space, in a cluster', 'test/cluster/collector.spec.ts', 'unlinked and rewritten'],
  ['2.11', 'option and key', `${ROWS}/rows-2-11.spec.ts`, '2.11 encryptionEnabled'],
  ['5.6', 'width', `${ROWS}/rows-5-6.spec.ts`, '5.6 width of a pop alone'],
  ['5.6', 'batch', `${ROWS}/rows-5-6.spec.ts`, '5.6 without a sample the minimum'],
];

const TRANSACTIONS: readonly Row[] = [
  ['8', 'one log entry on any node', 'test/cluster/transaction.spec.ts', 'does every step once'],
  ['8.1', 'operations, requiredLeases', transaction, 'refuses %s with 400'],
  ['8.1', 'kv: 64 operations, 256 keys', rows8, '8.1 kv: 64 operations'],
  ['8.1', 'timers: no caps of the route', rows8, '8.1 timers: more than 256'],
  ['8.1', 'positions: at most 16,384', transaction, 'refuses more than 16,384 positions'],
  ['8.1', 'positions: 16,384', rows8, '8.1 positions: 16,384 pass'],
  ['8.1', 'at least one part', rows8, '8.1 at least one part'],
  ['8.1', 'inline push', transaction, 'numbers acks and push items in order'],
  ['8.1', 'traceId', transaction, 'trace ids of either form of push'],
  ['8.1', 'ack without group', transaction, 'settle several groups and partitions at once'],
  ['8.1', 'position: next offset, metadata', positions, 'say where the group reads on'],
  ['8.1', 'position: lease, attempts, retries', positions, 'end the lease and forget'],
  ['8.1', 'position: what it is already', positions, 'change nothing when they say what is so'],
  ['8.1', 'position: subscriptionMode', positions, 'register a group with the mode they carry'],
  ['8.1', 'position: creates a partition', positions, 'create a partition, not a queue'],
  ['8.1', 'position: null', positions, 'forget a cursor'],
  ['8.1', 'position: 4,096 bytes', positions, 'take 4,096 bytes of metadata'],
  ['8.2', 'own lease', transaction, 'is its own'],
  ['8.2', 'the only lease named', transaction, 'is the only one the transaction names'],
  ['8.2', 'several', transaction, 'is none when the transaction names several'],
  ['8.2', 'repeat rule is off', transaction, 'comes from an ack of a batch that is settled'],
  ['8.2', 'unfenced', transaction, 'does not come from an unfenced repeat'],
  ['8.2', 'requiredLeases alone', transaction, 'fences nothing by itself'],
  ['8.3', 'first failing reason', rows8, '8.3 the first failing part decides'],
  ['8.4', 'kv, timer, position elements', rows8, '8.4 kv, timer and position elements'],
  ['8.4', 'ack.dlq', rows8, '8.4 ack.dlq of %s'],
  ['8.5', 'kv_precondition', rows8, '8.5 kv_precondition: %s'],
  ['8.5', 'duplicate', transaction, 'comes from a message that is stored already'],
  ['8.5', 'rejected_ack', transaction, 'comes from a fenced ack without its live lease'],
  ['8.5', 'rejected_ack, expired', rows8, '8.5 rejected_ack: a lease whose time is over'],
  ['8.5', 'queue_not_found', positions, 'create a partition, not a queue'],
  ['8.5', 'too_large', transaction, 'comes from what is larger than an entry'],
  ['8.5', 'name_too_long', transaction, 'rolls back for a long %s'],
  ['8.5', '400 and 413', rows8, '8.5 %s: %i %s'],
  ['8.5', 'encrypted on a timer', rows8, '8.5 encrypted on a timer'],
  ['8.5', 'bodies of the engine', rows8, '8.5 %s, without the envelope'],
  ['8.5', '429', refusals, 'a transaction of an ack and a push'],
  ['8.6', 'without a gate', rows8, '8.6 without a gate it applies again'],
  ['8.6', 'gates', rows8, '8.6 gate: %s'],
];

const GROUPS: readonly Row[] = [
  ['10', 'list', groups, 'shows a row per group and queue with a cursor'],
  ['10', 'state', rows10, '10 state %s'],
  ['10', 'subscription fields', rows10, '10 subscription of %s'],
  ['10', 'members', rows10, '10 members is the number of cursors'],
  ['10', 'detail', groups, 'shows one group by queue and partition'],
  ['10', 'lagging', groups, 'lists lanes behind by more than the bound'],
  ['10', 'lagging: strict, default', rows10, '10 lagging: %s'],
  ['10', 'lagging: queue mode', rows10, '10 lagging: queue mode included'],
  ['10', 'positions', groups, 'answers in order, null without a cursor'],
  ['10', 'positions: 65,536', rows10, '10 positions: %s'],
  ['10', 'positions without entries', rows10, '10 positions: without entries'],
  ['10', 'delete', groups, 'removes cursors and registration on every queue'],
  ['10', 'delete of a registration', rows10, '10 delete: a registration alone goes too'],
  ['10', 'delete on one queue', rows10, '10 delete: one queue'],
  ['10', 'subscription', rows10, '10 subscription: every queue it is registered on'],
  ['10', 'subscription refused', groups, 'refuses %j'],
  ['10', 'seek', rows10, '10 seek: every partition, %s'],
  ['10', 'seek: logStart', rows10, '10 seek: never below the first retained message'],
  ['10', 'seek of one partition', groups, 'goes to a time'],
  ['10', 'seek errors', groups, 'answers 404 when there is nothing to move'],
  ['10', 'seek registers nothing', groups, 'creates cursors of a group that never read'],
];

const MESSAGES: readonly Row[] = [
  ['11.1', 'limit', rows11, '11.1 limit: %s'],
  ['11.1', 'from, to', rows11, '11.1 from is inclusive'],
  ['11.1', 'default of from', rows11, '11.1 from is an hour ago'],
  ['11.1', 'order', messages, 'is newest first over partitions'],
  ['11.1', 'row', messages, 'shows every field'],
  ['11.1', 'status', rows11, "'11.1 %s'"],
  ['11.2', 'detail', messages, 'shows the message, its readers and its queue'],
  ['11.2', 'errorMessage, retryCount', rows11, '11.2 errorMessage and retryCount'],
  ['11.2', '404', messages, 'answers 404 for %s'],
  ['11.3', 'delete', dlq, 'deletes the dead letters of a message'],
  ['11.4', 'list', dlq, 'shows every field, payload bytes'],
  ['11.4', 'limit', rows11, '11.4 limit: %s'],
  ['11.4', 'purge', dlq, 'takes one group, then the queue'],
  ['11.4', 'replay', dlq, 'puts a copy at the end for every group'],
  ['11.4', 'replay: override', dlq, 'goes elsewhere when told to'],
  ['11.4', 'replay: duplicate', dlq, 'keeps the letter when the copy would be a duplicate'],
  ['11.4', 'replay: 409', rows11, '11.4 replay: a copy that fits no entry'],
  ['11.4', 'retry by message', dlq, 'retries the first dead letter of the message'],
];

const READS: readonly Row[] = [
  ['12', 'entries', rows12, '12 %s: 1,024 entries pass'],
  ['12', 'partition', rows12, '12 partition: %s'],
  ['12', 'order', rows12, '12 answers keep the order'],
  ['12.1', 'maxBytes', rows12, '12.1 maxBytes: 1 MiB unless named'],
  ['12.1', 'records', rows12, '12.1 at most 10,000 records'],
  ['12.1', 'minBytes', rows12, '12.1 minBytes counts over all entries'],
  ['12.1', 'woken', fetch, 'is woken by an append to its partition'],
  ['12.1', 'wait ends with an error', rows12, '12.1 a wait ends when an entry turns wrong'],
  ['12.1', 'errors', fetch, 'tells missing queues and offsets out of range'],
  ['12.2', 'first at or after', rows12, '12.2 a time is resolved'],
  ['12.2', 'refused times', fetch, 'refuses the time %j'],
  ['12.2', 'before the log', `${E2E}/retention.spec.ts`, 'offsets by time answer the first'],
  ['12.3', 'limit, next', rows12, '12.3 limit: %s'],
  ['12.3', 'since', rows12, '12.3 since is inclusive'],
  ['12.3', 'BAD_CURSOR', rows12, '12.3 the cursor %j is wrong'],
  ['13', 'fields and aliases', rows13, '13 field %s'],
  ['13', 'answers', traces, 'takes every field and shows it in both spellings'],
  ['13', 'refusals', traces, 'refuses one %s'],
  ['13', '511 bytes', rows13, '13 a key of 511 bytes is taken'],
  ['13', 'names', rows13, '13 names are in their order'],
  ['13', 'pages', rows13, '13 limit of %s'],
  ['13', 'kept 7 days', traces, 'lose traces after the time they are kept'],
  ['13', 'bounded', traces, 'the newest only where there are too many'],
];

const LIMITS: readonly Row[] = [
  ['15', 'name budget', rows15, '15 name budget'],
  ['15', 'transactionId', rows15, '15 a transactionId of %i bytes'],
  ['15', 'body', rows15, '15 a body of its limit'],
  ['15', 'one command', `${E2E}/push-limits.spec.ts`, 'answers items of a partition'],
  ['15', 'partitions of a pop', rows15, '15 partitions of a pop'],
  ['15', 'variables', 'src/config/table.spec.ts', 'knows every variable of the specification'],
];

const GUARANTEES: readonly Row[] = [
  ...['G1 ', 'G2 ', 'G3 ', 'G4 ', 'G5 ', 'G6 ', 'G7 ', 'G8 ', 'G9 ', 'G10 ', 'G11 ', 'G12 ', 'G13 ']
    .concat('G14 ', 'G15 ')
    .map((name): Row => ['16', name.trim(), first, `'${name}`]),
  ...['G16 ', 'G17 ', 'G18 ', 'G19 ', 'G20 ', 'G21 ', 'G23 ', 'G24 ', 'G27 '].map((name): Row => [
    '16',
    name.trim(),
    effects,
    `'${name}`,
  ]),
  ['16', 'G22', `${E2E}/guarantees-kill.spec.ts`, 'G22 %s that was answered'],
  ['16', 'G25', refusals, 'G25 what is refused was not applied'],
  ['16', 'G26', refusals, 'G26 pressure never touches'],
  ...['G1 G2 ', 'G3 G8 G17 G18 ', 'G16 ', 'G21 ', 'G22 ', 'G23 ', 'G24 ', 'G25 '].map(
    (name): Row => ['16', `${name}in a cluster`, cluster, `'${name}`],
  ),
];

export const OTHER_ROWS: readonly Row[] = [
  ...SEMANTICS,
  ...TRANSACTIONS,
  ...GROUPS,
  ...MESSAGES,
  ...READS,
  ...LIMITS,
  ...GUARANTEES,
];
