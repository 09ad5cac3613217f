/**
 * Turns an operation into the call a client would make and lets the model say what must come back.
 * References to earlier operations are looked up here; an operation whose references name nothing is
 * skipped. Texts that start with `$` stand for ids and are replaced before the call leaves.
 */
import { ack, extend } from './acks.js';
import type { Answer, Expected } from './answers.js';
import type { Call } from './broker-port.js';
import { configure, deleteGroup, deleteQueue, positions, seek, subscription } from './groups.js';
import { deleteMessage, letters, purge, replay } from './letters.js';
import type { AckItem, AckOp, Delivered, Instant, Op, PopOp, PushItem } from './operations.js';
import type { TransactionOp } from './operations.js';
import { pop, type Popped } from './pops.js';
import { pushAll, pushRow, type PushEntry } from './pushes.js';
import { QUEUE_MODE, type Partition, type State } from './state.js';
import { transaction, type TransactionBody } from './transactions.js';

export interface Past {
  /** Instant each operation started at. */
  readonly startedAt: Map<number, number>;
  readonly pops: Map<number, Popped>;
}

export interface Prepared {
  readonly call: Omit<Call, 'tenant'>;
  /** What the contract wants, given the choices the answer shows. Changes the model. */
  judge(answer: Answer): Expected;
}

/** Ids that never exist. */
const BOGUS_LEASE = '01990000-0000-7000-8000-00000000dead';
const QUEUES = ['a', 'b.x', 'c.x'];

export function prepare(state: State, past: Past, number: number, op: Op): Prepared | null {
  switch (op.kind) {
    case 'push':
      return preparePush(state, number, op.items);
    case 'pop':
      return preparePop(state, past, number, op);
    case 'ack':
      return prepareAck(state, past, op);
    case 'transaction':
      return prepareTransaction(state, past, number, op);
    case 'extend': {
      const lease = past.pops.get(op.pop)?.lease ?? '';
      if (lease === '') return null;
      const { seconds } = op;
      const path = `/api/v1/lease/${lease}/extend`;
      const body = seconds === undefined ? {} : { seconds };
      return { call: { method: 'POST', path, body }, judge: () => extend(state, lease, seconds) };
    }
    case 'letters':
      return prepareLetters(state, op);
    case 'purge':
    case 'replay':
    case 'deleteMessage':
      return prepareLetterChange(state, past, op);
    case 'advance':
    case 'restart':
    case 'wait':
      return null;
    default:
      return prepareAdministration(state, past, op);
  }
}

function entriesOf(items: readonly PushItem[], number: number): PushEntry[] {
  return items.map(({ queue, partition, txn }, i) => ({
    ...{ queue, partition, payload: { n: `${number}.${i}` } },
    ...(txn === undefined ? {} : { transactionId: txn }),
  }));
}

function preparePush(state: State, number: number, items: readonly PushItem[]): Prepared {
  const entries = entriesOf(items, number);
  const call = { method: 'POST', path: '/api/v1/push', body: { items: entries } } as const;
  const judge = (): Expected => {
    const verdicts = pushAll(state, entries);
    const body = verdicts.map((verdict, i) => pushRow(i, items[i]?.queue ?? '', verdict));
    return { status: 201, body };
  };
  return { call, judge };
}

function instantOf(state: State, past: Past, instant: Instant): number {
  if ('inMs' in instant) return state.now + instant.inMs;
  return (past.startedAt.get(instant.before) ?? state.now) - 5;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function preparePop(state: State, past: Past, number: number, op: PopOp): Prepared {
  const from =
    op.from === undefined || op.from === 'now' ? op.from : instantOf(state, past, op.from);
  const query: [string, unknown][] = [
    ['batch', op.batch],
    ['partitions', op.partitions],
    ['commitOnDelivery', op.commit === 'commitOnDelivery' ? true : undefined],
    ['autoAck', op.commit === 'autoAck' ? true : undefined],
    ['leaseSeconds', op.leaseSeconds],
    ['consumerGroup', op.group],
    ['subscriptionMode', op.mode],
    ['subscriptionFrom', typeof from === 'number' ? iso(from) : from],
    ['conflation', op.conflation],
    ['wait', op.wait],
    ['timeout', op.wait === true ? 60_000 : undefined],
    ['namespace', op.scope === 'discovery' ? op.labels.namespace : undefined],
    ['task', op.scope === 'discovery' ? op.labels.task : undefined],
  ];
  const given = query.filter(([, value]) => value !== undefined);
  const text = given
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join('&');
  const path = {
    queue: `/pop/queue/${op.queue}`,
    partition: `/pop/queue/${op.queue}/partition/${op.partition}`,
    discovery: '/pop',
  }[op.scope];
  const request = {
    ...{ scope: op.scope, queue: op.scope === 'discovery' ? '' : op.queue, from },
    ...{ partition: op.partition, group: op.group, partitions: op.partitions },
    ...{ namespace: op.labels.namespace ?? '', task: op.labels.task ?? '' },
    ...{ batch: op.batch ?? 200, commit: op.commit !== undefined, mode: op.mode ?? 'new' },
    ...{ leaseSeconds: op.leaseSeconds ?? 0, conflation: op.conflation },
  };
  return {
    call: { method: 'GET', path: `/api/v1${path}?${text}` },
    judge: (answer) => {
      const { expected, popped } = pop(state, request, answer);
      past.pops.set(number, popped);
      return expected;
    },
  };
}

interface Found {
  readonly partition: Partition;
  readonly txn: string;
  readonly lease: string;
  readonly group: string;
}

function delivered(past: Past, { pop: number, claim, index }: Delivered): Found | null {
  const popped = past.pops.get(number);
  if (popped === undefined || popped.claims.length === 0) return null;
  const chosen = popped.claims[claim % popped.claims.length];
  const message = chosen?.messages[index % chosen.messages.length];
  if (chosen === undefined || message === undefined) return null;
  const { lease, group } = popped;
  return { partition: chosen.partition, txn: message.txn, lease, group };
}

function leaseOf(past: Past, item: AckItem, own: string): string {
  if (item.lease === 'own') return own;
  if (item.lease === 'none') return '';
  if (item.lease === 'bogus') return BOGUS_LEASE;
  return past.pops.get(item.lease.pop)?.lease ?? '';
}

function ackEntry(past: Past, item: AckItem, found: Found) {
  const leaseId = leaseOf(past, item, found.lease);
  return {
    ...{ transactionId: item.txn ?? found.txn, partitionId: found.partition.id },
    ...(leaseId === '' ? {} : { leaseId }),
    ...(item.status === 'completed' ? {} : { status: item.status }),
    ...(item.error === undefined ? {} : { error: item.error }),
  };
}

function groupField(given: string | null | undefined, own: string): { consumerGroup?: string } {
  const group = given === undefined ? own : (given ?? QUEUE_MODE);
  return group === QUEUE_MODE ? {} : { consumerGroup: group };
}

function prepareAck(state: State, past: Past, op: AckOp): Prepared | null {
  const found = op.items.flatMap((item) => {
    const message = delivered(past, item.of);
    return message === null ? [] : [{ entry: ackEntry(past, item, message), message }];
  });
  const [first] = found;
  if (first === undefined) return null;
  const entries = (op.single ? [first] : found).map(({ entry }) => entry);
  const group = groupField(op.group, first.message.group);
  const body = op.single ? { ...group, ...first.entry } : { ...group, acknowledgments: entries };
  const path = op.single ? '/api/v1/ack' : '/api/v1/ack/batch';
  return {
    call: { method: 'POST', path, body },
    judge: () => ack(state, { ...group, acknowledgments: entries }),
  };
}

function prepareTransaction(
  state: State,
  past: Past,
  number: number,
  op: TransactionOp,
): Prepared | null {
  const acks = op.acks.flatMap((item) => {
    const message = delivered(past, item.of);
    if (message === null) return [];
    const group = groupField(item.group, message.group);
    return [{ type: 'ack' as const, ...group, ...ackEntry(past, item, message) }];
  });
  const items = entriesOf(op.pushes, number);
  const pushes = items.length === 0 ? [] : [{ type: 'push' as const, items }];
  const requiredLeases = op.required.flatMap((pop) => {
    const lease = past.pops.get(pop)?.lease ?? '';
    return lease === '' ? [] : [lease];
  });
  const placed = op.positions.map(({ group, ...rest }) => ({ consumerGroup: group, ...rest }));
  const operations = number % 2 === 0 ? [...acks, ...pushes] : [...pushes, ...acks];
  if (operations.length === 0 && placed.length === 0) return null;
  const body: TransactionBody = { operations, requiredLeases, positions: placed };
  return {
    call: { method: 'POST', path: '/api/v1/transaction', body },
    judge: () => transaction(state, body),
  };
}

function filterText(filter: { readonly queue?: string; readonly group?: string }): string {
  const { queue, group } = filter;
  const parts = [
    ...(queue === undefined ? [] : [`queue=${queue}`]),
    ...(group === undefined ? [] : [`consumerGroup=${group}`]),
  ];
  return parts.join('&');
}

export function prepareLetters(
  state: State,
  filter: { readonly queue?: string; readonly group?: string },
): Prepared {
  const path = `/api/v1/dlq?limit=1000&${filterText(filter)}`;
  return { call: { method: 'GET', path }, judge: () => letters(state, filter) };
}

function prepareLetterChange(
  state: State,
  past: Past,
  op: Extract<Op, { readonly kind: 'purge' | 'replay' | 'deleteMessage' }>,
): Prepared | null {
  if (op.kind === 'purge') {
    const path = `/api/v1/dlq?${filterText(op)}`;
    return { call: { method: 'DELETE', path }, judge: () => purge(state, op) };
  }
  const letter = state.letters[op.nth % Math.max(state.letters.length, 1)];
  if (op.kind === 'deleteMessage') {
    const message = op.of === undefined ? null : delivered(past, op.of);
    const txn = message?.txn ?? letter?.txn;
    const id = message?.partition.id ?? letter?.partitionId;
    if (txn === undefined || id === undefined) return null;
    const path = `/api/v1/messages/${id}/${txn}`;
    return { call: { method: 'DELETE', path }, judge: () => deleteMessage(state, id, txn) };
  }
  if (letter === undefined) return null;
  const target = {
    ...(op.queue === undefined ? {} : { queue: op.queue }),
    ...(op.partition === undefined ? {} : { partition: op.partition }),
  };
  const byMessage = `/api/v1/messages/${letter.partitionId}/${letter.txn}/retry`;
  const path = op.byMessage ? byMessage : `/api/v1/dlq/${letter.id}/replay`;
  const chosen = (answer: Answer): typeof letter => {
    const id: unknown = op.byMessage ? answer.body?.dlqId : letter.id;
    const same = (other: typeof letter): boolean =>
      other.partitionId === letter.partitionId && other.txn === letter.txn;
    return state.letters.find((other) => other.id === id && same(other)) ?? letter;
  };
  return {
    call: { method: 'POST', path, body: target },
    judge: (answer) => replay(state, chosen(answer), target),
  };
}

function prepareAdministration(
  state: State,
  past: Past,
  op: Exclude<
    Op,
    | PopOp
    | AckOp
    | TransactionOp
    | {
        kind:
          | 'push'
          | 'extend'
          | 'letters'
          | 'purge'
          | 'replay'
          | 'deleteMessage'
          | 'advance'
          | 'restart'
          | 'wait';
      }
  >,
): Prepared {
  switch (op.kind) {
    case 'configure': {
      const { queue, mode, options } = op;
      const body = { queue, options, ...(mode === undefined ? {} : { mode }) };
      const call = { method: 'POST', path: '/api/v1/configure', body } as const;
      return { call, judge: () => configure(state, queue, body) };
    }
    case 'deleteQueue': {
      const path = `/api/v1/resources/queues/${op.queue}`;
      return { call: { method: 'DELETE', path }, judge: () => deleteQueue(state, op.queue) };
    }
    case 'deleteGroup': {
      const where = op.queue === undefined ? '' : `/queues/${op.queue}`;
      const flag = op.keepMetadata ? '?deleteMetadata=false' : '?';
      const path = `/api/v1/consumer-groups/${op.group}${where}${flag}`;
      return { call: { method: 'DELETE', path }, judge: () => deleteGroup(state, op.group, op) };
    }
    case 'subscription': {
      const at = instantOf(state, past, op.at);
      const path = `/api/v1/consumer-groups/${op.group}/subscription`;
      const body = { subscriptionTimestamp: iso(at) };
      return {
        call: { method: 'POST', path, body },
        judge: () => subscription(state, op.group, at),
      };
    }
    case 'seek':
      return prepareSeek(state, past, op);
    case 'positions': {
      const entries = QUEUES.flatMap((queue) =>
        [0, 1, 2].map((n) => ({ queue, partition: `${queue}${n}` })),
      );
      const body = { consumerGroup: op.group, entries };
      const path = '/api/v1/consumer-groups/positions';
      return {
        call: { method: 'POST', path, body },
        judge: () => positions(state, op.group, entries),
      };
    }
  }
}

function prepareSeek(
  state: State,
  past: Past,
  op: Extract<Op, { readonly kind: 'seek' }>,
): Prepared {
  const where = op.partition === undefined ? '' : `/partitions/${op.partition}`;
  const path = `/api/v1/consumer-groups/${op.group}/queues/${op.queue}${where}/seek`;
  const at = 'toEnd' in op.target ? 'end' : instantOf(state, past, op.target.at);
  const body = at === 'end' ? { toEnd: true } : { timestamp: iso(at) };
  return { call: { method: 'POST', path, body }, judge: () => seek(state, op, at) };
}
