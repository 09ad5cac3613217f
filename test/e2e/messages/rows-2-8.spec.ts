/**
 * Rows of messages.md §2.8 (delayed processing, window buffer), named by their section: for queue mode,
 * groups and pinned pops alike, alone and together. Turning them off and on: test/e2e/delayed.spec.ts.
 */
import { TestBroker, type HttpAnswer } from '../../support/broker.js';
import { Calls, eventually, freshQueue, idsOf, messagesOf, unhurried } from '../calls.js';

const WAIT = { wait: true, timeout: 30_000 };
const GROUP = { consumerGroup: 'g', subscriptionMode: 'all' };
/** Stamps are taken a little after the call; clocks are one and the same. */
const SECOND_MS = 1_000;

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

type Pop = (queue: string, query: object) => Promise<HttpAnswer>;
const READERS: readonly (readonly [string, Pop])[] = [
  ['queue mode', (queue, query) => calls.pop(queue, { ...query })],
  ['a group', (queue, query) => calls.pop(queue, { ...GROUP, ...query })],
  ['a pinned pop', (queue, query) => calls.popPinned(queue, 'Default', { ...query })],
  [
    'commit on delivery',
    (queue, query) => calls.pop(queue, { ...GROUP, ...query, commitOnDelivery: true }),
  ],
];

/** ms from the newest append of what was delivered to now. */
const ageMs = (popped: HttpAnswer): number =>
  Date.now() - Math.max(...messagesOf(popped).map(({ createdAt }) => Date.parse(createdAt)));

/** Resolves when the only message of the queue is older than a second. */
async function aSecondOld(queue: string): Promise<void> {
  const [{ createdAt }] = (await broker.get(`/api/v1/messages?queue=${queue}`)).json.messages;
  await eventually(async () => (Date.now() - Date.parse(createdAt) > SECOND_MS ? true : null));
}

describe.each(READERS)('%s', (_reader, pop) => {
  it('2.8 delayedProcessing: nothing before its time, then a parked pop is answered', async () => {
    await unhurried(async (timely) => {
      const queue = freshQueue();
      await calls.configure(queue, { delayedProcessing: 1 });
      await timely(SECOND_MS, async () => {
        await calls.push(queue, 'a', 'b');
        expect((await pop(queue, {})).status).toBe(204);
      });
      const popped = await pop(queue, WAIT);
      expect(idsOf(popped)).toEqual(['a', 'b']);
      expect(ageMs(popped)).toBeGreaterThanOrEqual(SECOND_MS);
    });
  });

  it('2.8 windowBuffer: nothing at all while the partition is written, then all of it', async () => {
    await unhurried(async (timely) => {
      const queue = freshQueue();
      await calls.push(queue, 'old');
      await calls.configure(queue, { windowBuffer: 1 });
      await aSecondOld(queue);
      // Old enough by now; the new one holds it back.
      await timely(SECOND_MS, async () => {
        await calls.push(queue, 'new');
        expect((await pop(queue, {})).status).toBe(204);
      });
      const popped = await pop(queue, WAIT);
      expect(idsOf(popped)).toEqual(['old', 'new']);
      expect(ageMs(popped)).toBeGreaterThanOrEqual(SECOND_MS);
    });
  });
});

it('2.8 delayedProcessing: head of line, an append that is not due ends the batch', async () => {
  const { queue, first } = await unhurried(async (timely) => {
    const fresh = freshQueue();
    await calls.configure(fresh, { delayedProcessing: 2 });
    await calls.push(fresh, 'a');
    await aSecondOld(fresh);
    return timely(2 * SECOND_MS, async () => {
      await calls.push(fresh, 'b');
      const popped = await calls.pop(fresh, WAIT);
      expect(idsOf(popped)).toEqual(['a']);
      return { queue: fresh, first: popped };
    });
  });
  await calls.ack(messagesOf(first)[0]!, undefined, 'a');
  const second = await calls.pop(queue, WAIT);
  expect(idsOf(second)).toEqual(['b']);
  expect(ageMs(second)).toBeGreaterThanOrEqual(2 * SECOND_MS);
});

it('2.8 both: the window first, then what is due', async () => {
  const queue = freshQueue();
  await calls.configure(queue, { delayedProcessing: 2, windowBuffer: 1 });
  await calls.push(queue, 'a');
  const popped = await calls.pop(queue, WAIT);
  expect(idsOf(popped)).toEqual(['a']);
  expect(ageMs(popped)).toBeGreaterThanOrEqual(2 * SECOND_MS);
});

it('2.8 each partition has a window of its own', async () => {
  const queue = freshQueue();
  await calls.configure(queue, { windowBuffer: 2 });
  await calls.push(queue, { id: 'quiet', partition: 'quiet' });
  const waiting = calls.pop(queue, { ...WAIT, partitions: 2 });
  let answered = false;
  void waiting.then(() => (answered = true));
  for (let n = 0; !answered; n += 1) {
    await calls.push(queue, { id: `b${n}`, partition: 'busy' });
  }
  expect(idsOf(await waiting)).toEqual(['quiet']);
});
