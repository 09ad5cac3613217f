/**
 * Pure capacity of a single-voter group without HTTP: single-message pushes, or batches, submitted by
 * N callers that each wait for their answer.
 *
 *   node --expose-gc test/bench/run-typescript.mjs test/bench/group-capacity.ts
 *
 * CALLERS, BATCH, BYTES, SECONDS, PARTITIONS, DISTINCT set the load; HOLDS=1 watches
 * how long the loop is held.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLocalGroup } from '../../src/raft/open-local-group.js';
import { pushCommand } from '../support/group-commands.js';
import { Holds, threadCpuMs } from './holds.js';

const callers = Number(process.env['CALLERS'] ?? 2000);
const batch = Number(process.env['BATCH'] ?? 1);
const payloadBytes = Number(process.env['BYTES'] ?? 100);
const seconds = Number(process.env['SECONDS'] ?? 10);
const partitions = Number(process.env['PARTITIONS'] ?? 100);
const distinct = Number(process.env['DISTINCT'] ?? 400_000);

async function main(): Promise<void> {
  const directory = await mkdtemp(join(process.env['DIR'] ?? tmpdir(), 'queen-bench-'));
  const { group, close } = await openLocalGroup({
    ...{ directory, nodeId: 1 },
    log: { info: () => undefined, warn: console.warn, error: console.error },
  });
  const payload = Buffer.alloc(payloadBytes, 'x');
  // Commands are prepared before the clock starts: this measures the group, not the edge.
  const count = Math.min(distinct, Math.ceil(2_000_000 / batch));
  const commands = Array.from({ length: count }, (_, i) =>
    pushCommand(
      'bench',
      `p${i % partitions}`,
      Array.from({ length: batch }, (_u, j) => ({ transactionId: `id-${i}-${j}`, payload })),
    ),
  );
  const arena = new Uint8Array(commands.reduce((sum, { bytes }) => sum + bytes.length, 0));
  let filled = 0;
  commands.forEach(({ bytes }, i) => {
    arena.set(bytes, filled);
    commands[i] = { bytes: arena.subarray(filled, filled + bytes.length) };
    filled += bytes.length;
  });
  global.gc?.();
  // Watching the loop spins it: only when asked for.
  const holds = process.env['HOLDS'] === undefined ? null : new Holds();
  const threadCpu = threadCpuMs();
  const cpu = process.cpuUsage();
  const start = performance.now();
  const end = start + seconds * 1000;
  let next = 0;
  let done = 0;
  const latencies: number[] = [];
  const caller = async (): Promise<void> => {
    while (performance.now() < end && next < commands.length) {
      const command = commands[next++];
      if (command === undefined) return;
      const from = performance.now();
      await group.submit(command, { deadlineMs: from + 30_000 });
      done += 1;
      if ((done & 15) === 0) latencies.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const took = (performance.now() - start) / 1000;
  const thread = ((threadCpuMs() - threadCpu) * 1000) / done;
  const held = holds?.take() ?? 'holds not watched';
  holds?.stop();
  const used = process.cpuUsage(cpu);
  latencies.sort((a, b) => a - b);
  const at = (q: number): string => (latencies[Math.floor(latencies.length * q)] ?? 0).toFixed(1);
  const { applied, durable } = group.status();
  console.log(
    `cpu per push ${((used.user + used.system) / done).toFixed(1)} µs (main thread ${thread.toFixed(1)}), pushes/s ${(done / took).toFixed(0)} messages/s ${((done * batch) / took).toFixed(0)} ` +
      `entries ${applied} durable ${durable} p50 ${at(0.5)} p99 ${at(0.99)} ms, ` +
      `${held}, ` +
      `rss ${(process.memoryUsage().rss / 1048576).toFixed(0)} MB`,
  );
  await close();
  await rm(directory, { recursive: true });
}

await main();
