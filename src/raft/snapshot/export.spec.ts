/**
 * A backup whose rows take their time, while the messages they tell of are deleted and the collector
 * wants the space: the copy holds every message of its moment, the space is freed afterwards.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pushCommand, TENANT } from '../../../test/support/group-commands.js';
import { CommandKind } from '../../machine/commands/catalogue.js';
import { encodeDeleteQueue } from '../../machine/commands/index.js';
import { ReadPins } from '../group/collector/read-pins.js';
import type { Group, PreparedCommand } from '../group/group.js';
import { openLocalGroup } from '../open-local-group.js';
import { MachineRows } from '../row-ports.js';
import { writeBackup } from './backup.js';
import { restoreSnapshot } from './restore.js';

jest.setTimeout(180_000);

const IDS = Array.from({ length: 60 }, (_, i) => `m-${i}`);
const PARTITION = 1;
const WITHIN_MS = 60_000;
/** What a collector that does not wait takes at most, of polls of 20 ms. */
const CHANCES = 20;

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'queen-export-'));
});

afterEach(async () => {
  jest.restoreAllMocks();
  await rm(root, { recursive: true, force: true });
});

function submit(group: Group, command: PreparedCommand): Promise<unknown> {
  return group.submit(command, { deadlineMs: performance.now() + 60_000 });
}

function push(group: Group, queue: string, transactionId: string): Promise<unknown> {
  const payload = JSON.stringify('x'.repeat(900));
  return submit(group, pushCommand(queue, 'p', [{ transactionId, payload }]));
}

async function segments(): Promise<number> {
  const names = await readdir(join(root, 'source', 'wal'));
  return names.filter((name) => name.endsWith('.seg')).length;
}

async function until(check: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + WITHIN_MS;
  while (!(await check())) {
    if (performance.now() > end) throw new Error('not in time');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Rows of views are handed out once the gate is open. */
function slowRows(gate: Promise<void>): { readonly asked: Promise<void> } {
  const { view } = MachineRows.prototype;
  let told = (): void => undefined;
  const asked = new Promise<void>((resolve) => (told = resolve));
  jest.spyOn(MachineRows.prototype, 'view').mockImplementationOnce(async function (
    this: MachineRows,
    index,
  ) {
    const real = await view.call(this, index);
    return {
      appliedIndex: real.appliedIndex,
      get: (key) => real.get(key),
      close: () => real.close(),
      iterate: async function* (range) {
        told();
        await gate;
        yield* real.iterate(range);
      },
    };
  });
  return { asked };
}

it('keeps the bytes of its moment from the collector', async () => {
  const opened = await openLocalGroup({
    ...{ directory: join(root, 'source'), nodeId: 1, diskGate: null },
    ...{ segmentBytes: 10_000, logKeepEntries: 2, checkpointMs: 20 },
    collector: { intervalMs: 10, minDeadPercent: 50 },
  });
  const { group } = opened;
  for (const id of IDS) await push(group, 'q', id);
  let open = (): void => undefined;
  const { asked } = slowRows(new Promise<void>((resolve) => (open = resolve)));
  const making = opened.backup();
  await asked;
  const full = await segments();
  const settled = jest.spyOn(ReadPins.prototype, 'settled');
  await submit(group, {
    kind: CommandKind.DeleteQueue,
    bytes: encodeDeleteQueue(TENANT, { queue: 'q' }),
  } as PreparedCommand);
  // The log lets go of entries only as new ones come; then the collector judges them dead.
  let ticks = 0;
  await until(async () => {
    await push(group, 'ticker', `t-${(ticks += 1)}`);
    return settled.mock.calls.length > 0;
  });
  for (let i = 0; i < CHANCES && (await segments()) >= full; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  open();
  const backup = await making;
  await writeBackup(join(root, 'backup'), backup.bytes());
  await backup.release();
  await until(async () => (await segments()) < full);
  await opened.close();
  const directory = join(root, 'restored');
  const target = { directory, nodeId: 1, clusterId: 'local', member: null };
  await restoreSnapshot({ from: join(root, 'backup'), ...target });
  const restored = await openLocalGroup({ directory, nodeId: 1, diskGate: null });
  const found = await restored.group.readMessages(PARTITION, 0, 1_000);
  expect(found.map(({ transactionId }) => Buffer.from(transactionId).toString())).toEqual(IDS);
  await restored.close();
});
