/**
 * A group with many partitions: fill, restart to ready, 100,000 cursors dirtied at once, and how long
 * the loop was held meanwhile. PARTITIONS (default 1,000,000), CURSORS (100,000).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { consumerGroupId, offset } from '../../src/common/ids.js';
import { CommandKind } from '../../src/machine/commands/index.js';
import { openLocalGroup } from '../../src/raft/open-local-group.js';
import { Holds } from './holds.js';
import { claimCommand, registerCommand, spreadCommand, TENANT } from '../support/group-commands.js';

const partitions = Number(process.env['PARTITIONS'] ?? 1_000_000);
const cursors = Number(process.env['CURSORS'] ?? 100_000);
const PER_COMMAND = 1000;

async function main(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'queen-scale-'));
  const options = {
    ...{ directory, nodeId: 1 },
    log: { info: () => undefined, warn: console.warn, error: console.error },
  };
  let opened = await openLocalGroup(options);
  const holds = new Holds();
  const soon = () => ({ deadlineMs: performance.now() + 60_000 });
  let from = performance.now();
  for (let first = 0; first < partitions; first += PER_COMMAND * 4) {
    const commands = Array.from({ length: 4 }, (_, c) =>
      Array.from({ length: PER_COMMAND }, (_u, i) => `partition-${first + c * PER_COMMAND + i}`),
    );
    await Promise.all(
      commands.map((names) => opened.group.submit(spreadCommand('q', names, 'first'), soon())),
    );
  }
  console.log(`fill ${((performance.now() - from) / 1000).toFixed(1)} s, ${holds.take()}`);
  await opened.close();
  global.gc?.();
  holds.take();
  from = performance.now();
  const cpu = process.cpuUsage();
  opened = await openLocalGroup(options);
  const used = process.cpuUsage(cpu);
  console.log(
    `restart with ${opened.group.tables.partitions.count} partitions: ready after ` +
      `${((performance.now() - from) / 1000).toFixed(1)} s (cpu ${((used.user + used.system) / 1e6).toFixed(1)} s), ` +
      `rss ${(process.memoryUsage().rss / 1048576).toFixed(0)} MB`,
  );
  await dirtyCursors(opened.group, soon, holds);
  holds.stop();
  await opened.close();
  await rm(directory, { recursive: true });
}

async function dirtyCursors(
  group: Awaited<ReturnType<typeof openLocalGroup>>['group'],
  soon: () => { deadlineMs: number },
  holds: Holds,
): Promise<void> {
  const outcome = await group.submit(registerCommand('q', 'g'), soon());
  if (outcome.kind !== CommandKind.Register || outcome.groupId === null)
    throw new Error('register');
  const { tables } = group;
  const queue = tables.queues.find(tables.names.tenant(TENANT)!, 'q')!;
  let slot = queue.firstPartition;
  const commands: ReturnType<typeof claimCommand>[] = [];
  for (let done = 0; done < cursors; done += PER_COMMAND) {
    const ranges = [];
    for (
      let i = 0;
      i < PER_COMMAND && slot >= 0;
      i += 1, slot = tables.partitions.nextInQueue(slot)
    ) {
      ranges.push({
        ...{ queueId: queue.id, partitionId: tables.partitions.id(slot) },
        ...{ groupId: consumerGroupId(outcome.groupId), cursorVersion: 0, seedCommitted: -1 },
        ...{ firstOffset: offset(0), lastOffset: offset(0), conflated: false },
      });
    }
    const leaseId = new Uint8Array(16).fill(1 + ((done / PER_COMMAND) % 250));
    const grant = { ticket: { session: 0, sequence: 1 }, leaseId, leaseMicros: 60_000_000 };
    commands.push(claimCommand([{ ...grant, commitOnDelivery: false, ranges }]));
  }
  await new Promise((resolve) => setTimeout(resolve, 300));
  holds.take();
  const from = performance.now();
  await Promise.all(commands.map((command) => group.propose(command)));
  const applied = performance.now() - from;
  const { applied: index } = group.status();
  while (group.status().durable < index) await new Promise((resolve) => setTimeout(resolve, 10));
  console.log(
    `${tables.cursors.count} cursors claimed in ${applied.toFixed(0)} ms, durable after ` +
      `${(performance.now() - from).toFixed(0)} ms, ${holds.take()}`,
  );
}

await main();
