/** Two runs into one place: the one that begins does not undo the one that is about to end. */
import fs from 'node:fs/promises';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBackupTarget } from './backup-target.js';

const mockBefore = jest.fn<Promise<void>, []>();

jest.mock('../../storage/index.js', () => {
  const actual =
    jest.requireActual<typeof import('../../storage/index.js')>('../../storage/index.js');
  return {
    ...actual,
    syncDirectory: async (directory: string) => {
      await mockBefore();
      return actual.syncDirectory(directory);
    },
  };
});

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'queen-runs-'));
  mockBefore.mockReset();
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

it('refuses a second run until what the first has written stands in its place', async () => {
  const to = join(root, 'to');
  const first = await openBackupTarget(to);
  mkdirSync(first.growing);
  writeFileSync(join(first.growing, 'rows'), 'all of them');
  let refusal = 'none';
  mockBefore.mockImplementationOnce(async () => {
    refusal = await openBackupTarget(to).then(() => 'none', String);
  });
  await first.finish();
  expect(refusal).toContain('another "queen backup" writes');
  expect([readdirSync(root), readdirSync(to)]).toEqual([['to'], ['rows']]);
});

it('refuses a second run between the two renames of the first', async () => {
  const to = join(root, 'to');
  const first = await openBackupTarget(to);
  mkdirSync(first.growing);
  writeFileSync(join(first.growing, 'rows'), 'new');
  mkdirSync(to);
  writeFileSync(join(to, 'rows'), 'old');
  const rename = fs.rename.bind(fs);
  let refusal = 'none';
  const between = jest.spyOn(fs, 'rename').mockImplementationOnce(async (from, into) => {
    await rename(from, into);
    refusal = await openBackupTarget(to).then(() => 'none', String);
  });
  await first.finish();
  between.mockRestore();
  expect(refusal).toContain('another "queen backup" writes');
  expect(readdirSync(root)).toEqual(['to']);
  expect(readFileSync(join(to, 'rows'), 'utf8')).toBe('new');
});
