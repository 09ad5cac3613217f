/**
 * The calls that nearly every end-to-end test makes, short: push, pop, ack, depth, and waiting with a
 * deadline instead of sleeping. Each test works on queues of its own, so that a file needs one broker.
 */
import { PopService } from '../../src/leases/pop.service.js';
import type { HttpAnswer, TestBroker } from '../support/broker.js';

/** The machine may be busy; what must be prompt is measured where it matters. */
jest.setTimeout(120_000);

let queues = 0;

/** A queue name no other test of this file uses. */
export function freshQueue(hint = 'q'): string {
  queues += 1;
  return `${hint}-${queues}`;
}

export interface Item {
  readonly id?: string;
  readonly partition?: string;
  readonly payload?: unknown;
}

export type Query = Readonly<Record<string, string | number | boolean>>;

export interface PushRow {
  readonly index: number;
  readonly message_id: string;
  readonly transaction_id: string;
  readonly queueName: string;
  readonly status: string;
  readonly offset?: number;
}

export interface AckRow {
  readonly index: number;
  readonly transactionId: string;
  readonly success: boolean;
  readonly error: string | null;
  readonly leaseReleased: boolean;
  readonly dlq: boolean;
  readonly noop: boolean;
}

/** A popped message, or the head of a pop answer: what an ack needs. */
export interface Popped {
  readonly partitionId: string;
  readonly leaseId: string;
}

export interface Message extends Popped {
  readonly transactionId: string;
  readonly deliveryAttempt: number;
  readonly createdAt: string;
}

/** A JSON object of an answer. */
export type Wire = HttpAnswer['json'];

export interface AckItem {
  readonly id: string;
  readonly status?: string;
  readonly error?: string;
}

export class Calls {
  constructor(readonly broker: TestBroker) {}

  /** Pushes items; texts are transactionIds. Answers the rows of the 201. */
  async push(queue: string, ...items: readonly (Item | string)[]): Promise<PushRow[]> {
    const answer = await this.broker.post('/api/v1/push', {
      items: items.map((item) => pushItem(queue, item)),
    });
    if (answer.status !== 201) throw new Error(`push answered ${answer.status}: ${answer.text}`);
    return answer.json;
  }

  pop(queue: string, query: Query = {}): Promise<HttpAnswer> {
    return this.broker.get(`/api/v1/pop/queue/${encodeURIComponent(queue)}${queryText(query)}`);
  }

  popPinned(queue: string, partition: string, query: Query = {}): Promise<HttpAnswer> {
    const path = `${encodeURIComponent(queue)}/partition/${encodeURIComponent(partition)}`;
    return this.broker.get(`/api/v1/pop/queue/${path}${queryText(query)}`);
  }

  discover(query: Query): Promise<HttpAnswer> {
    return this.broker.get(`/api/v1/pop${queryText(query)}`);
  }

  /** Acks messages of one popped partition under its lease. */
  async ack(
    popped: Popped,
    group: string | undefined,
    ...items: (AckItem | string)[]
  ): Promise<AckRow[]> {
    const { partitionId, leaseId } = popped;
    const acknowledgments = items.map((item) => {
      const { id, ...rest } = typeof item === 'string' ? { id: item } : item;
      return { transactionId: id, partitionId, leaseId, ...rest };
    });
    const answer = await this.broker.post('/api/v1/ack/batch', {
      ...(group === undefined ? {} : { consumerGroup: group }),
      acknowledgments,
    });
    if (answer.status !== 200) throw new Error(`ack answered ${answer.status}: ${answer.text}`);
    return answer.json;
  }

  configure(queue: string, options: Readonly<Record<string, unknown>>): Promise<HttpAnswer> {
    return this.broker.post('/api/v1/configure', { queue, options });
  }

  async depth(queue: string, group?: string): Promise<Wire> {
    const path = `/api/v1/resources/queues/${encodeURIComponent(queue)}/depth`;
    return (await this.broker.get(path + (group === undefined ? '' : `?group=${group}`))).json;
  }

  async detail(queue: string): Promise<Wire> {
    return (await this.broker.get(`/api/v1/resources/queues/${encodeURIComponent(queue)}`)).json;
  }

  /** Starts a pop that waits, and resolves once the broker has parked it. */
  async park(start: () => Promise<HttpAnswer>): Promise<{ answer: Promise<HttpAnswer> }> {
    const before = this.parked;
    const answer = start();
    await eventually(async () => (this.parked > before ? true : null));
    // A read waits for what was committed before it: for its registration, if it needed one.
    await this.broker.get('/api/v1/resources/queues?limit=1');
    return { answer };
  }

  /** Pops that wait at the broker. */
  get parked(): number {
    return this.broker.nest.get(PopService, { strict: false }).parked;
  }
}

function pushItem(queue: string, item: Item | string): unknown {
  const { id, partition, payload } = typeof item === 'string' ? { id: item } : item;
  return {
    queue,
    ...(partition === undefined ? {} : { partition }),
    ...(id === undefined ? {} : { transactionId: id }),
    payload: payload === undefined ? { id } : payload,
  };
}

export function queryText(query: Query): string {
  const pairs = Object.entries(query).map(
    ([name, value]) => `${name}=${encodeURIComponent(String(value))}`,
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

export function messagesOf(answer: HttpAnswer): Message[] {
  return answer.json?.messages ?? [];
}

/** The transactionIds of a pop answer, [] when it was empty. */
export function idsOf(answer: HttpAnswer): string[] {
  return messagesOf(answer).map((message) => message.transactionId);
}

/** Repeats `attempt` until it gives something, for at most `withinMs`. */
export async function eventually<T>(
  attempt: () => Promise<T | null | undefined>,
  withinMs = 30_000,
): Promise<T> {
  const until = Date.now() + withinMs;
  for (;;) {
    const result = await attempt();
    if (result !== null && result !== undefined) return result;
    if (Date.now() > until) throw new Error(`nothing within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Generous on a busy machine; a wait that only ends with its own time is much longer. */
export const PROMPT_MS = 15_000;

/** The answer comes because of `act`, and not when its wait is over. */
export async function promptly<T>(answer: Promise<T>, act: () => Promise<unknown>): Promise<T> {
  const started = performance.now();
  await act();
  const result = await answer;
  expect(performance.now() - started).toBeLessThan(PROMPT_MS);
  return result;
}

/** Time ran out under a scene; what it saw may be due to that. */
class TooLate extends Error {}

export type Timely = <T>(limitMs: number, part: () => Promise<T>) => Promise<T>;

const timely: Timely = async (limitMs, part) => {
  const from = performance.now();
  const end = await part().then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  // A little less: clocks are read in whole milliseconds.
  if (performance.now() - from >= limitMs - 5) throw new TooLate(`not within ${limitMs} ms`);
  if ('error' in end) throw end.error;
  return end.value;
};

const SCENES = 10;

/**
 * A scene with parts that have to be over before a lease, a delay or a window is. Where the machine was too
 * slow for that it begins anew, so everything in it has to be made anew; what it finds in time counts.
 */
export async function unhurried<T>(scene: (timely: Timely) => Promise<T>): Promise<T> {
  for (let n = 1; ; n += 1) {
    try {
      return await scene(timely);
    } catch (error) {
      if (!(error instanceof TooLate) || n === SCENES) throw error;
    }
  }
}
