/** The two slots of the checkpoint record, whole, torn and damaged. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CheckpointFile, readCheckpoint, type CheckpointRecord } from './checkpoint-record.js';

const storeId = new Uint8Array(16).fill(7);

const record = (checkpoint: number): CheckpointRecord => ({
  storeId,
  checkpoint,
  appliedIndex: checkpoint * 10,
  appliedTerm: 2,
  digest: new Uint8Array(8).fill(checkpoint),
  logNumber: 5,
  logLength: checkpoint * 1000,
  levelSequence: checkpoint * 50,
});

describe('checkpoint record', () => {
  let directory: string;
  let path: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'queen-record-'));
    path = join(directory, 'checkpoint');
  });
  afterEach(() => rm(directory, { recursive: true }));

  /** A new file at `first`, then written up to `last`. */
  async function written(first: number, last: number): Promise<void> {
    const file = await CheckpointFile.replace(directory, record(first));
    for (let n = first + 1; n <= last; n++) await file.write(record(n));
    await file.close();
  }

  async function spoil(position: number): Promise<void> {
    const bytes = await readFile(path);
    bytes[position]! ^= 1;
    await writeFile(path, bytes);
  }

  test('no file is no record', async () => {
    expect(await readCheckpoint(directory)).toBeUndefined();
  });

  test.each([4, 5, 6])('the last of 4 to %i is read back', async (last) => {
    await written(4, last);
    expect(await readCheckpoint(directory)).toEqual({ record: record(last), required: last });
  });

  //   slot of checkpoint n is n & 1: after 4..6 slot 0 holds 6, slot 1 holds 5
  test.each([
    { first: 4, last: 6, slot: 1, found: 6, required: 7, why: 'it may have been that of 7, torn' },
    { first: 4, last: 6, slot: 0, found: 5, required: 6, why: 'checkpoint 6 was synced before it' },
    { first: 4, last: 4, slot: 0, found: 4, required: 4, why: 'both are copies of a new file' },
    { first: 4, last: 4, slot: 1, found: 4, required: 5, why: 'it may have been that of 5, torn' },
  ])(
    'slot $slot broken after $first..$last: $why',
    async ({ first, last, slot, found, required }) => {
      await written(first, last);
      await spoil(slot * 4096 + 30);
      expect(await readCheckpoint(directory)).toEqual({ record: record(found), required });
    },
  );

  test('a flip in the padding has no effect', async () => {
    await written(4, 6);
    await spoil(2000);
    await spoil(8000);
    expect(await readCheckpoint(directory)).toEqual({ record: record(6), required: 6 });
  });

  test.each([
    ['both slots broken', async () => (await spoil(30), spoil(4096 + 30))],
    ['truncated', async () => writeFile(path, (await readFile(path)).subarray(0, 5000))],
    ['empty', () => writeFile(path, '')],
  ])('%s is refused with the file and a cure', async (_name, damage) => {
    await written(4, 6);
    await damage();
    await expect(readCheckpoint(directory)).rejects.toMatchObject({
      code: 'store_damage',
      file: path,
      cure: expect.stringContaining('replace this node'),
    });
  });
});
