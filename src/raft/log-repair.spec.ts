/** The note of a damaged log: durable with its name before anything goes on, and before a repair begins. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeId } from '../common/ids.js';
import { ApplyRecords, FAILURE_FILE } from './apply-records.js';
import { silentLog } from './group-files.js';
import { noteDamage, openRepaired, REPAIR_FILE } from './log-repair.js';
import { WalDamageError } from './wal/index.js';

const damage = new WalDamageError({ file: 'x.seg', byteOffset: 7, reason: 'bad', cure: 'mend' });
let directory: string;
let synced: string[];

beforeEach(() => {
  directory = fs.mkdtempSync(join(tmpdir(), 'queen-note-'));
  synced = [];
  const real = fs.fsyncSync;
  jest.spyOn(fs, 'fsyncSync').mockImplementation((handle) => {
    synced.push(fs.fstatSync(handle).isDirectory() ? 'directory' : 'file');
    real(handle);
  });
});

afterEach(() => {
  jest.restoreAllMocks();
  fs.rmSync(directory, { recursive: true, force: true });
});

const isNoted = (): boolean => fs.existsSync(join(directory, REPAIR_FILE));

it('syncs the note and then its name', () => {
  noteDamage(directory, damage);
  expect(synced).toEqual(['file', 'directory']);
  expect(isNoted()).toBe(true);
});

it('notes nothing that is no damage', () => {
  noteDamage(directory, new Error('disk full'));
  expect(isNoted()).toBe(false);
});

it('is there while damage that the start met is repaired', async () => {
  const identity = { clusterId: 'c', nodeId: nodeId(1), directoryId: '0'.repeat(32) };
  const peers = { peers: [], clusterId: 'c', token: 't', kinds: 1 } as never;
  const opening = openRepaired({ directory, identity, peers, log: silentLog }, () =>
    Promise.reject(damage),
  );
  // There is no log to repair at all.
  await expect(opening).rejects.toThrow(WalDamageError);
  expect(isNoted()).toBe(true);
});

it('makes a failure that is over go for good', () => {
  const records = new ApplyRecords(directory, silentLog);
  const failure = { class: 'NODE-LOCAL', error: 'e', index: 4, term: 1, digest: 'd' };
  records.applyFailed({ ...failure, command: null, effect: null });
  expect(synced).toEqual(['file', 'directory']);
  records.forgetFailure();
  expect(synced).toEqual(['file', 'directory', 'directory']);
  expect(fs.existsSync(join(directory, FAILURE_FILE))).toBe(false);
});
