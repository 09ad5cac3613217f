/** Fills a broker with partitions and cursors, for the benches that need very many of them. */
import { PopLoad } from './pop-load.js';
import { PushLedger } from './push-ledger.js';
import { PushLoad } from './push-load.js';

const UNTIL_DONE = { warmupMs: 0, measureMs: 3_600_000 };
const CONNECTIONS = 10;
const BATCH = 100;

export interface Filled {
  readonly ledger: PushLedger;
  readonly seconds: number;
}

/** A message to each of so many partitions of the queue, in pushes of 100; `done` are there already. */
export async function createLanes(
  port: number,
  { queue, done = 0 }: { readonly queue: string; readonly done?: number },
  partitions: number,
): Promise<Filled> {
  const ledger = new PushLedger({
    ...{ queue, batch: BATCH, payloadBytes: 100, partitions, spread: true, sequential: true },
  });
  ledger.requests = done;
  const from = performance.now();
  await PushLoad.run({
    ...{ port, ledger, connections: CONNECTIONS, ...UNTIL_DONE },
    enough: () => (ledger.requests - done) * BATCH >= partitions,
  });
  return { ledger, seconds: (performance.now() - from) / 1000 };
}

/** A cursor of the group on every partition, by pops of 64 of them. */
export async function createCursors(
  port: number,
  { queue, group }: { readonly queue: string; readonly group: string },
  partitions: number,
): Promise<{ readonly messages: number; readonly seconds: number }> {
  const from = performance.now();
  const { messages } = await PopLoad.run({
    ...{ port, queue, group, connections: CONNECTIONS, ...UNTIL_DONE },
    ...{ batch: 64, partitions: 64, commitOnDelivery: true, available: partitions },
  });
  return { messages, seconds: (performance.now() - from) / 1000 };
}
