/**
 * On which directories a node starts: its own, an empty one, and what an interrupted first start or a fresh
 * volume leaves. Everything else is refused, and then nothing of it is changed.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeBackup } from '../../src/raft/snapshot/backup.js';
import { restoreGroups } from '../../src/raft/snapshot/restore-groups.js';
import { TestBroker } from '../support/broker.js';

let root: string;
let directory: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'queen-start-'));
  directory = join(root, 'data');
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

async function starts(env: Record<string, string> = {}): Promise<void> {
  const broker = await TestBroker.start({ QUEEN_RAFT_DIR: directory, ...env });
  expect((await broker.get('/health')).status).toBe(200);
  await broker.stop();
}

async function refused(says: string, env: Record<string, string> = {}): Promise<void> {
  await expect(starts(env)).rejects.toThrow(says);
}

const tree = (): string[] => readdirSync(root, { recursive: true }).map(String).sort();

function put(...names: string[]): void {
  for (const name of names) {
    mkdirSync(join(directory, name, '..'), { recursive: true });
    writeFileSync(join(directory, name), 'mine');
  }
}

async function backup(env: Record<string, string> = {}): Promise<void> {
  const source = await TestBroker.start(env);
  const { body } = await fetch(`${source.url}/api/v1/system/backup`);
  await writeBackup(directory, body as unknown as AsyncIterable<Uint8Array>);
  await source.stop();
}

const JOINS = {
  QUEEN_RAFT_REPLICATOR: 'openraft',
  QUEEN_RAFT_JOIN: 'true',
  QUEEN_RAFT_PEERS: '1=127.0.0.1:7400/127.0.0.1:6632',
};

it.each([{}, JOINS])('refuses a backup, with %j', async (env) => {
  await backup();
  const before = tree();
  await refused(`is a backup, no data directory. Make one from it: QUEEN_RAFT_DIR=`, env);
  expect(tree()).toEqual(before);
});

it.each([
  [['notes.txt'], 'is not empty (notes.txt): nothing here was made by a node'],
  [['a', 'b', 'c', 'd'], 'is not empty (a, b, c, …)'],
  [['wal/manifest', 'store/CURRENT'], 'if it is the data of a node, it has lost that file'],
])('refuses %j', async (names, says) => {
  put(...names);
  const before = tree();
  await refused(says);
  expect(tree()).toEqual(before);
});

it('refuses a file, and a path that leads through one', async () => {
  writeFileSync(directory, 'mine');
  await refused(`${directory} cannot be made: a file has this name`);
  await refused('a name in this path is a file', { QUEEN_RAFT_DIR: join(directory, 'x', 'y') });
  expect(tree()).toEqual(['data']);
});

it('refuses a place that takes no directories', async () => {
  // Linux: Node tries a recursive mkdir there for ever.
  await refused('cannot be made', { QUEEN_RAFT_DIR: '/proc/queen' });
  await refused('cannot be made', { QUEEN_RAFT_DIR: '/proc/queen/x' });
});

it('starts where a first start was interrupted, on a fresh volume, above `npm run cluster`', async () => {
  put('lock/LOCK', 'identity.tmp', '.snapshot/x', 'lost+found/x', 'analytics/x', 'cluster/n1/x');
  await starts();
  await starts();
});

it('starts where a first start of several raft groups was interrupted', async () => {
  const env = { QUEEN_RAFT_GROUPS: '2' };
  await starts(env);
  for (const name of ['identity', 'wal', 'store', 'checkpoint', 'ids', 'snapshots']) {
    rmSync(join(directory, name), { recursive: true, force: true });
    rmSync(join(directory, 'groups', 'g1'), { recursive: true, force: true });
  }
  expect(readdirSync(directory)).toEqual(expect.arrayContaining(['groups', 'raft-groups']));
  await starts(env);
});

it('is restored into an empty volume, not over a backup', async () => {
  await backup();
  const [from, fresh] = [directory, join(root, 'fresh')];
  const options = { from, nodeId: 1, groups: 1, clusterId: 'local', member: null };
  await expect(restoreGroups({ ...options, directory: from })).rejects.toThrow(
    'is itself a backup',
  );
  mkdirSync(join(fresh, 'lost+found'), { recursive: true });
  await restoreGroups({ ...options, directory: fresh });
  directory = fresh;
  await starts();
});
