/** A rewrite frees only what was dead in a state that is durable, and what no read under way can reach. */
import { logIndex } from '../../../common/ids.js';
import type { GroupView } from '../group.js';
import type { KeptBytes, MachineParts, RetiredLog } from '../ports.js';
import { Collector } from './collector.js';
import { ReadPins } from './read-pins.js';

const ENTRY_BYTES = 10_000;

function sceneOf() {
  const pins = new ReadPins();
  const store = { durableIndex: 5 };
  const machine = { appliedIndex: logIndex(5) };
  const clock = { nowMs: 0 };
  /** While the segment is written: what happens to the state, and the reads that begin. */
  const during: (() => void)[] = [];
  const swapped: boolean[] = [];
  const retired: RetiredLog = {
    segments: () => [{ sequence: 1, revision: 0, first: 1, last: 3, sizeBytes: 3 * ENTRY_BYTES }],
    read: (_sequence, { visit }) => {
      for (let index = 1; index <= 3; index += 1) visit(index, Buffer.alloc(ENTRY_BYTES, 1));
      return Promise.resolve(true);
    },
    rewrite: async (_sequence, { keep, settled }) => {
      const kept: KeptBytes[] = [1, 2, 3].map((index) => keep(index, Buffer.alloc(ENTRY_BYTES, 1)));
      expect(kept).toEqual([false, [{ start: 100, length: 10 }], false]);
      for (const happen of during) happen();
      swapped.push(await settled());
      return 0;
    },
    remove: () => Promise.reject(new Error('nothing is to be removed')),
  };
  const view = { close: () => Promise.resolve() } as unknown as GroupView;
  const parts = {
    ...{ machine, tables: { partitions: { byId: () => -1 } }, appends: {} },
    contents: {
      visit: (_payload: Uint8Array, holder: { messages(id: number, bytes: number): void }) =>
        holder.messages(7, ENTRY_BYTES),
      async *pinned() {
        yield await Promise.resolve({ entryIndex: 2, start: 100, length: 10 });
      },
    },
  } as unknown as MachineParts;
  const warned: string[] = [];
  const log = {
    ...{ info: () => undefined, error: () => undefined },
    warn: (event: string, fields?: unknown) => warned.push(event + JSON.stringify(fields)),
  };
  const collector = new Collector(
    {
      ...{ machine: parts, retired, store, pins, log },
      nowMs: () => (clock.nowMs += 100),
      view: () => Promise.resolve(view),
      damaged: (error) => warned.push(String(error)),
    },
    { intervalMs: 1e6, minDeadPercent: 30 },
  );
  return { pins, store, machine, during, swapped, collector, warned };
}

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i += 1) await new Promise((resolve) => setImmediate(resolve));
};

it('swaps when nothing moved meanwhile', async () => {
  const { collector, swapped, warned } = sceneOf();
  await collector.poll();
  expect({ swapped, warned }).toEqual({ swapped: [true], warned: [] });
});

it('waits for the reads that began while it wrote', async () => {
  const { collector, swapped, pins, during } = sceneOf();
  let epoch = 0;
  during.push(() => (epoch = pins.enter()));
  const pass = collector.poll();
  const end = performance.now() + 60_000;
  while (epoch === 0 && performance.now() < end) await turns(10);
  expect(epoch).not.toBe(0);
  await turns(50);
  expect(swapped).toEqual([]);
  pins.leave(epoch);
  await pass;
  expect(swapped).toEqual([true]);
});

it('lets go of nothing that only a state judged which is not durable', async () => {
  const { collector, swapped, machine, store, during } = sceneOf();
  during.push(() => (machine.appliedIndex = logIndex(6)));
  await collector.poll();
  expect(swapped).toEqual([false]);
  during.length = 0;
  store.durableIndex = 6;
  await collector.poll();
  expect(swapped).toEqual([false, true]);
});
