/**
 * The three pops (messages.md §5). The order in which claimable partitions are taken is the broker's
 * choice: the model reads it from the answer, checks that every claim was allowed, that it gave exactly
 * what the partition had to give, and that nothing claimable was left while budget was.
 */
import { ABSENT, ANY, Illegal, TEXT, type Answer, type Expected } from './answers.js';
import {
  commitOnDelivery,
  cursorFor,
  deliverable,
  keepStart,
  startOf,
  takeLease,
  type Claim,
  type Start,
} from './claims.js';
import {
  ensureQueue,
  mint,
  partitionById,
  QUEUE_MODE,
  type Cursor,
  type Message,
  type Partition,
  type Queue,
  type State,
} from './state.js';

export interface PopRequest {
  readonly scope: 'queue' | 'partition' | 'discovery';
  readonly queue: string;
  readonly partition: string;
  readonly namespace: string;
  readonly task: string;
  readonly group: string | undefined;
  readonly batch: number;
  readonly partitions: number | undefined;
  readonly commit: boolean;
  readonly leaseSeconds: number;
  readonly mode: string;
  /** Milliseconds, `now`, or absent. */
  readonly from: number | 'now' | undefined;
  readonly conflation: boolean | undefined;
}

/** What later operations refer to. */
export interface Popped {
  readonly lease: string;
  readonly group: string;
  readonly claims: readonly {
    readonly partition: Partition;
    readonly messages: readonly Message[];
  }[];
}

interface Candidate {
  readonly queue: Queue;
  readonly partition: Partition;
}

export function pop(
  state: State,
  request: PopRequest,
  answer: Answer,
): { readonly expected: Expected; readonly popped: Popped } {
  const group = request.group ?? QUEUE_MODE;
  const refusal = refusalOf(request);
  if (refusal !== null) return { expected: refusal, popped: { lease: '', group, claims: [] } };
  const intent = intentOf(state, request);
  const candidates = reachable(state, request, group, intent);
  const policy = policyOf(state, request, group, candidates);
  const claimed = claimAs(state, { ...request, group, intent, candidates }, answer);
  const lease = claimed.lease;
  const flags = flagsOf(request, policy, claimed.claims);
  const { claims } = claimed;
  const popped = { lease, group, claims };
  if (claims.length === 0 && policy.conflating.length + policy.conflicting.length === 0) {
    return { expected: { status: 204 }, popped };
  }
  const first = claims[0]?.partition;
  const body = {
    ...{ success: true, queue: request.queue, leaseId: lease, consumerGroup: group, ...flags },
    ...{ partition: first?.name ?? '', partitionId: first?.id ?? '' },
    partitionsClaimed: claims.length,
    messages: claims.flatMap((claim) => claim.messages.map((m) => rowOf(m, claim, group, lease))),
  };
  return { expected: { status: 200, body }, popped };
}

function rowOf(message: Message, claim: Claim, group: string, lease: string): object {
  return {
    ...{ id: message.id, transactionId: message.txn, data: message.payload, traceId: null },
    ...{ producerSub: null, createdAt: { $: 'time', ms: message.createdAt } },
    ...{ partitionId: claim.partition.id, partition: claim.partition.name, leaseId: lease },
    ...{ consumerGroup: group, deliveryAttempt: claim.attempt, offset: message.offset },
  };
}

/** §5.2. */
function refusalOf(request: PopRequest): Expected | null {
  const body = { success: false, error: TEXT, messages: [] };
  if (request.scope === 'discovery' && request.namespace === '' && request.task === '') {
    return { status: 400, body: { ...body, error: 'namespace or task is required' } };
  }
  if (request.conflation !== true) return null;
  if (request.group === undefined || request.commit) return { status: 400, body };
  return null;
}

function intentOf(state: State, { mode, from }: PopRequest): Start {
  if (from === 'now') return { mode: 'new', instant: state.now };
  if (from !== undefined) return { mode: 'timestamp', instant: from };
  return { mode: state.rules.modeIsNew(mode) ? 'new' : 'all', instant: state.now };
}

/** Partitions the pop may claim from; registers the group where the contract says so (§2.3, §5.3). */
function reachable(state: State, request: PopRequest, group: string, intent: Start): Candidate[] {
  const register = (queue: Queue): void => {
    if (group === QUEUE_MODE || queue.groups.has(group)) return;
    queue.groups.set(group, { ...intent, conflation: request.conflation === true });
  };
  if (request.scope === 'queue') {
    const queue = ensureQueue(state, request.queue);
    register(queue);
    return candidatesOf(queue);
  }
  if (request.scope === 'discovery') {
    const matching = matchingQueues(state, request);
    matching.forEach(register);
    return matching.flatMap(candidatesOf);
  }
  const queue = state.queues.get(request.queue);
  const partition = queue?.partitions.get(request.partition);
  if (queue === undefined || partition === undefined) return [];
  if (request.conflation === true && !partition.cursors.has(group)) register(queue);
  const keeps = state.rules.keepsStart && group !== QUEUE_MODE;
  if (keeps && !queue.groups.has(group)) keepStart(partition, group, intent);
  return [{ queue, partition }];
}

/**
 * A discovery pop that found enough need not look at the other queues: what only those would say may be
 * missing.
 */
function flagsOf(
  { scope }: PopRequest,
  policy: Policy,
  claims: readonly Claim[],
): { readonly conflation: unknown; readonly conflationConflict: unknown } {
  const show = (said: readonly Queue[]): unknown => {
    if (said.length === 0) return ABSENT;
    const isCertain =
      scope !== 'discovery' ||
      claims.length === 0 ||
      claims.some(({ partition }) => said.some((queue) => holds(queue, partition)));
    return isCertain ? true : ANY;
  };
  return { conflation: show(policy.conflating), conflationConflict: show(policy.conflicting) };
}

function holds(queue: Queue, partition: Partition): boolean {
  return queue.partitions.get(partition.name) === partition;
}

function matchingQueues(state: State, { namespace, task }: PopRequest): Queue[] {
  return [...state.queues.values()].filter(
    (queue) =>
      (namespace === '' || queue.namespace === namespace) && (task === '' || queue.task === task),
  );
}

function named(state: State, { queue: name }: PopRequest): Queue[] {
  const queue = state.queues.get(name);
  return queue === undefined ? [] : [queue];
}

function candidatesOf(queue: Queue): Candidate[] {
  return [...queue.partitions.values()].map((partition) => ({ queue, partition }));
}

interface Policy {
  /** Queues where the group is registered conflating. */
  readonly conflating: readonly Queue[];
  /** Queues whose registration says otherwise than the request. */
  readonly conflicting: readonly Queue[];
}

function policyOf(
  state: State,
  request: PopRequest,
  group: string,
  candidates: readonly Candidate[],
): Policy {
  const { conflation } = request;
  const queues =
    request.scope === 'discovery' ? matchingQueues(state, request) : named(state, request);
  const stored = (queue: Queue): boolean => queue.groups.get(group)?.conflation === true;
  const isKnown = candidates.length > 0 || queues.some((queue) => queue.groups.has(group));
  return {
    conflating: queues.filter(stored),
    conflicting:
      isKnown && conflation !== undefined
        ? queues.filter((queue) => stored(queue) !== conflation)
        : [],
  };
}

interface Claiming extends Omit<PopRequest, 'group'> {
  readonly group: string;
  readonly intent: Start;
  readonly candidates: readonly Candidate[];
}

function claimAs(
  state: State,
  claiming: Claiming,
  answer: Answer,
): { readonly claims: Claim[]; readonly lease: string } {
  const { group, intent } = claiming;
  const conflates = (queue: Queue): boolean => queue.groups.get(group)?.conflation === true;
  const offers = new Map<Partition, Offer>();
  for (const { queue, partition } of claiming.candidates) {
    const start = startOf(state, { queue, partition }, group, intent);
    const cursor = cursorFor(partition, group, start);
    offers.set(partition, { queue, cursor, conflate: conflates(queue) });
  }
  let budget = Math.max(claiming.batch, 1);
  let widths = widthOf(claiming);
  const claims: Claim[] = [];
  const lease = claiming.commit ? '' : mint(state, 'L');
  const order = orderOf(answer);
  for (const id of order) {
    const partition = partitionById(state, id);
    const offer = partition === undefined ? undefined : offers.get(partition);
    if (partition === undefined || offer === undefined) throw new Illegal(`claimed ${id}`);
    const messages = deliverable(state, offer.queue, partition, { ...offer, budget });
    if (messages.length === 0) throw new Illegal(`${id} had nothing to claim`);
    if (widths === 0 || budget === 0) throw new Illegal(`${id} was claimed beyond the budget`);
    if (state.rules.batchPerCall) budget -= messages.length;
    widths -= 1;
    offers.delete(partition);
    claims.push(claimOne(state, { ...claiming, lease }, { ...offer, partition, messages }));
  }
  if (budget > 0 && widths > 0) {
    for (const [partition, offer] of offers) {
      const candidate = { queue: offer.queue, partition };
      if (claims.length > 0 && mayBeLate(state, claiming, candidate)) continue;
      if (deliverable(state, offer.queue, partition, { ...offer, budget }).length > 0) {
        throw new Illegal(`${partition.id} could have been claimed and was not`);
      }
    }
  }
  return { claims, lease: claims.length === 0 ? '' : lease };
}

/**
 * A pop that found something need not wait for what the broker still has to look up: the start of a
 * group on a partition that it never read and whose policy is an instant between two of its appends, and
 * how much of a delayed partition is due while its newest message is not.
 */
function mayBeLate(state: State, claiming: Claiming, { partition, queue }: Candidate): boolean {
  const { group, intent } = claiming;
  const newest = partition.messages.at(-1)?.createdAt ?? -Infinity;
  if (state.now - newest < queue.options.delayedProcessing * 1000) return true;
  const { mode, instant } = startOf(state, { queue, partition }, group, intent);
  const cursor = partition.cursors.get(group);
  const isPlaced = cursor !== undefined && cursor.start === null;
  return !isPlaced && mode !== 'all' && partition.createdAt < instant && instant <= newest;
}

interface Offer {
  readonly queue: Queue;
  readonly cursor: Cursor;
  readonly conflate: boolean;
}

function widthOf({ scope, partitions, batch, conflation }: Claiming): number {
  if (scope === 'partition') return 1;
  const width = partitions ?? (conflation === true ? batch : 1);
  return Math.min(Math.max(width, 1), 64);
}

/** Partitions in the order the answer claims them. */
function orderOf(answer: Answer): string[] {
  const rows: readonly { readonly partitionId: string }[] = answer.body?.messages ?? [];
  return rows
    .map(({ partitionId }) => partitionId)
    .filter((id, i, all) => i === 0 || all[i - 1] !== id);
}

function claimOne(
  state: State,
  { group, scope, commit, leaseSeconds, lease }: Claiming & { readonly lease: string },
  offer: Offer & { readonly partition: Partition; readonly messages: readonly Message[] },
): Claim {
  const { partition, messages, cursor, queue, conflate } = offer;
  partition.cursors.set(group, cursor);
  if (commit) {
    commitOnDelivery(cursor, messages);
    return { partition, messages, attempt: 1 };
  }
  const own = scope === 'discovery' ? 60 : Math.max(queue.options.leaseTime, 1);
  const seconds = leaseSeconds > 0 ? leaseSeconds : own;
  const taken = { id: lease, messages, seconds, conflated: conflate };
  return { partition, messages, attempt: takeLease(state, cursor, taken) };
}
