/** A flipped bit anywhere in a run of the id index is found, and the run named. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IdTable } from './id-table.js';
import { PAGE_BYTES } from './run-format.js';
import { sealTable } from './run-writer.js';
import { verifyRuns } from './verify-runs.js';

let directory: string;
let name: string;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'queen-runs-'));
  const table = new IdTable(10);
  for (let n = 1; n <= 500; n += 1) table.add(n * 2_654_435, n * 40_503, n, 0);
  table.oldest = 1;
  table.newest = 2;
  await sealTable(directory, table, 1);
  name = readdirSync(directory)[0]!;
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function verified(): Promise<{ sound: string[]; damages: string[] }> {
  const damages: string[] = [];
  const sound = await verifyRuns(directory, (error) => damages.push(error.message));
  return { sound, damages };
}

it('is sound as written', async () => {
  expect(await verified()).toEqual({ sound: [name], damages: [] });
});

it.each<[string, (size: number) => number, string]>([
  ['the first page', () => 100, 'a page does not match its checksum (at byte 0)'],
  ['a later page', () => PAGE_BYTES + 50, `a page does not match its checksum (at byte 4096)`],
  ['the tags', (size) => size - PAGE_BYTES - 10, 'the tags do not match their checksum'],
  ['the trailer', (size) => size - 3, 'the trailer does not match its checksum'],
])('finds a flipped bit in %s', async (_, at, says) => {
  const path = join(directory, name);
  const bytes = readFileSync(path);
  bytes[at(statSync(path).size)]! ^= 1;
  writeFileSync(path, bytes);
  const { sound, damages } = await verified();
  expect(sound).toEqual([]);
  expect(damages).toEqual([expect.stringContaining(says)]);
  expect(damages[0]).toContain(path);
});

it('finds nothing where no index is', async () => {
  rmSync(directory, { recursive: true });
  expect(await verified()).toEqual({ sound: [], damages: [] });
});
