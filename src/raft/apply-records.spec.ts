/** Skip markers in a real log: what is replaced, what is refused, what a repeated start does. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QueenError } from '../common/errors.js';
import { logIndex, nodeId, term } from '../common/ids.js';
import { ApplyRecords, FAILURE_FILE, skipEntries } from './apply-records.js';
import { applyFailureOf, isMarker, payloadDigest } from './group/apply-failure.js';
import { buildEntry } from './group/entry-payload.js';
import type { LogEntry } from './group/ports.js';
import { silentLog } from './group-files.js';
import { NodeFilePort, Wal } from './wal/index.js';

const identity = { clusterId: 'c', nodeId: nodeId(1), directoryId: '0123456789abcdef'.repeat(2) };
const ENTRIES = 9;
const BLANK = 4;
let directory: string;
let wal: Wal;

const openWal = (create: boolean): Promise<Wal> =>
  Wal.open({
    ...{ files: new NodeFilePort(), directory: join(directory, 'wal'), identity },
    ...(create ? { create: {} } : {}),
    segmentBytes: 2048,
  });

function entryAt(index: number): LogEntry {
  const command = Buffer.alloc(600, index);
  command.writeUInt32LE(command.length - 4, 0);
  const stamp = { index: logIndex(index), term: term(2), now: 77 as never, machineVersion: 6 };
  return buildEntry(stamp, [command]);
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'queen-skip-'));
  wal = await openWal(true);
  for (let index = 1; index <= ENTRIES; index += 1) {
    const place = { index: logIndex(index), term: term(2) };
    const { parts } = entryAt(index);
    const entry =
      index === BLANK ? { kind: 'empty' as const, parts: [] } : { kind: 'normal' as const, parts };
    await wal.append({ entries: [{ ...place, ...entry }] });
  }
});

afterEach(async () => {
  await wal.close();
  rmSync(directory, { recursive: true, force: true });
});

const records = (): ApplyRecords => new ApplyRecords(directory, silentLog);

function skip(index: number, digest: string | null = null, durableIndex = 1): Promise<void> {
  const skips = [{ group: 0, index, digest }];
  return skipEntries({ wal, records: records(), skips, durableIndex, log: silentLog });
}

async function payloadOf(index: number): Promise<Buffer> {
  return (await wal.readEntry(logIndex(index))).payload;
}

it.each([2, 5, ENTRIES])('replaces entry %d alone, durable, wherever it lies', async (index) => {
  const before = await payloadOf(index);
  await skip(index, payloadDigest(before));
  for (let restart = 0; restart < 2; restart += 1) {
    const payload = await payloadOf(index);
    const { parts } = { parts: [payload] };
    const commandCount = payload.readUInt32LE(10);
    const place = { index: logIndex(index), term: term(2) };
    expect(isMarker({ ...place, parts, sizeBytes: payload.length, commandCount })).toBe(true);
    expect(payload.subarray(0, 10)).toEqual(before.subarray(0, 10));
    for (let other = 1; other <= ENTRIES; other += 1) {
      if (other === index || other === BLANK) continue;
      expect(await payloadOf(other)).toEqual(Buffer.concat([...entryAt(other).parts]));
    }
    expect(records().skipped).toEqual([{ index, term: 2, digest: payloadDigest(before) }]);
    // Still set at the next start: nothing more happens.
    await skip(index, payloadDigest(before), ENTRIES);
    await wal.close();
    wal = await openWal(false);
  }
  expect(wal.lastIndex).toBe(ENTRIES);
});

it.each([
  ['another digest', 5, 'ab12', 1, 'its digest is'],
  ['an applied entry', 3, null, 3, 'already applied'],
  ['an entry without a command', BLANK, null, 1, 'holds no command'],
] as const)('refuses %s and changes nothing', async (_name, index, digest, durable, why) => {
  const before = await payloadOf(index);
  await expect(skip(index, digest, durable)).rejects.toThrow(why);
  expect(await payloadOf(index)).toEqual(before);
  expect(records().skipped).toEqual([]);
});

it('refuses while the last failure was this node alone, and ignores what is not in the log', async () => {
  const failed = records();
  failed.applyFailed(applyFailureOf(entryAt(5), Object.assign(new Error('EIO'), { code: 'EIO' })));
  await expect(skip(5)).rejects.toThrow('node-local');
  failed.applied(entryAt(5), false);
  expect(records().lastFailure).toBeNull();
  await skip(ENTRIES + 1);
  expect(records().skipped).toEqual([]);
});

it('keeps a failure across starts until the entry is replaced', async () => {
  const failure = applyFailureOf(entryAt(5), new Error('a fault'));
  expect(failure).toMatchObject({ class: 'DETERMINISTIC', index: 5, term: 2 });
  records().applyFailed(failure);
  expect(records().lastFailure).toEqual(failure);
  await skip(5, failure.digest);
  expect(records().lastFailure).toBeNull();
});

it('takes a key that is too long for a fault of the entry: every member meets it', () => {
  const failure = applyFailureOf(entryAt(5), new QueenError('name_too_long'));
  expect(failure).toMatchObject({ class: 'DETERMINISTIC', index: 5 });
});

it('names a record it cannot read', () => {
  writeFileSync(join(directory, FAILURE_FILE), '{"half":');
  expect(() => records()).toThrow(FAILURE_FILE);
});
