/** A backup of a group that serves, restored for a single node and for a cluster of one. */
import fs, { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pushCommand } from '../../../test/support/group-commands.js';
import { QUICK } from '../../../test/support/cluster-harness.js';
import { MemoryNetwork } from '../../../test/support/memory-network.js';
import { nodeId } from '../../common/ids.js';
import { silentLog } from '../group-files.js';
import { openClusterGroup } from '../open-cluster-group.js';
import { openLocalGroup } from '../open-local-group.js';
import { claimDirectory } from '../own-directory.js';
import type { Group } from '../group/group.js';
import { writeBackup } from './backup.js';
import { restoreSnapshot } from './restore.js';

jest.setTimeout(180_000);

const IDS = Array.from({ length: 60 }, (_, i) => `m-${i}`);
const PARTITION = 1;

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'queen-backup-'));
});

afterEach(() => rm(root, { recursive: true, force: true }));

async function push(group: Group, transactionId: string): Promise<unknown> {
  const payload = JSON.stringify('x'.repeat(900));
  return group.submit(pushCommand('q', 'p', [{ transactionId, payload }]), {
    deadlineMs: performance.now() + 60_000,
  });
}

async function idsOf(group: Group): Promise<string[]> {
  const messages = await group.readMessages(PARTITION, 0, 1_000);
  return messages.map((message) => Buffer.from(message.transactionId).toString());
}

/** Made while the group serves: what comes after it is not in it. */
async function makeBackup(): Promise<string> {
  const to = join(root, 'backup');
  const opened = await openLocalGroup({
    ...{ directory: join(root, 'source'), nodeId: 1, diskGate: null },
    ...{ segmentBytes: 20_000, logKeepEntries: 5, checkpointMs: 20 },
  });
  for (const id of IDS) await push(opened.group, id);
  const backup = await opened.backup();
  await push(opened.group, 'later');
  const { index } = await writeBackup(to, backup.bytes());
  expect(index).toBeGreaterThan(IDS.length);
  await backup.release();
  await opened.close();
  return to;
}

it('gives a single node the state of its moment', async () => {
  const from = await makeBackup();
  const directory = join(root, 'restored');
  await restoreSnapshot({ from, directory, nodeId: 4, clusterId: 'local', member: null });
  for (let start = 0; start < 2; start += 1) {
    const opened = await openLocalGroup({ directory, nodeId: 4, diskGate: null });
    expect(await idsOf(opened.group)).toEqual(IDS);
    // The ids are recognised: nothing is stored twice.
    expect(await push(opened.group, 'm-7')).toMatchObject({
      groups: [{ offsets: Float64Array.of(7) }],
    });
    await opened.close();
  }
});

it('is over also when its files cannot be removed: nobody waits for that', async () => {
  const warned: string[] = [];
  const log = { ...silentLog, warn: (event: string) => void warned.push(event) };
  const place = { directory: join(root, 'source'), nodeId: 1, diskGate: null };
  const opened = await openLocalGroup({ ...place, log });
  const backup = await opened.backup();
  const failing = jest.spyOn(fs, 'rm').mockRejectedValueOnce(new Error('EIO'));
  await backup.release();
  failing.mockRestore();
  expect(warned).toContain('files of a backup not removed');
  await opened.close();
});

it('makes a cluster of one in a new generation', async () => {
  const from = await makeBackup();
  const directory = join(root, 'member');
  const member = { raft: 'h1:7400', http: 'h1:6632' };
  await restoreSnapshot({ from, directory, nodeId: 1, clusterId: 'cluster', member });
  const network = new MemoryNetwork();
  const opened = await openClusterGroup({
    ...{ directory, nodeId: 1, diskGate: null, timing: QUICK },
    // Who else is listed does not matter: they have other data or none.
    voters: [1, 2, 3],
    connect: () => network.port(nodeId(1)),
  });
  expect(await idsOf(opened.group)).toEqual(IDS);
  expect(opened.group.cluster.members()).toMatchObject({
    config: { voters: [1], learners: [] },
    generation: 1,
  });
  await push(opened.group, 'after');
  await opened.close();
});

it('refuses a directory in use, and a backup that is not whole', async () => {
  const from = await makeBackup();
  const restore = (directory: string): Promise<unknown> =>
    restoreSnapshot({ from, directory, nodeId: 1, clusterId: 'local', member: null });
  await expect(restore(join(root, 'source'))).rejects.toThrow('is not empty');
  await truncate(join(from, 'rows'), 100);
  await expect(restore(join(root, 'other'))).rejects.toThrow('has 100 bytes instead of');
});

it('is not started from when it ended half way: that would be an empty broker', async () => {
  const from = await makeBackup();
  const rows = join(from, 'rows');
  const whole = await readFile(rows);
  await writeFile(rows, new Uint8Array(whole.length));
  const directory = join(root, 'half');
  const restore = (): Promise<unknown> =>
    restoreSnapshot({ from, directory, nodeId: 4, clusterId: 'local', member: null });
  await expect(restore()).rejects.toThrow();
  await writeFile(rows, whole);
  const refusal = 'was only partly restored';
  await expect(claimDirectory(directory)).rejects.toThrow(refusal);
  await expect(openLocalGroup({ directory, nodeId: 4, diskGate: null })).rejects.toThrow(refusal);
  await expect(restore()).rejects.toThrow(refusal);
  await rm(directory, { recursive: true });
  await restore();
  await claimDirectory(directory);
});
