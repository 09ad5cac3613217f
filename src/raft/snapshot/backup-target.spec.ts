/** Two runs into one place: the one that begins does not undo the one that is about to end. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
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
