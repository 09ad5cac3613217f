/** Files that are replaced while the process runs: what is handed on, and what is told once. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WatchedFiles } from './watched-files.js';

let directory: string;
let path: string;
let looks: number;
let used: string[];
let refusals: string[];
let files: WatchedFiles<'cert'>;

const until = async (check: () => boolean): Promise<void> => {
  const end = performance.now() + 60_000;
  while (!check()) {
    if (performance.now() > end) throw new Error('never');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
};

/** Nobody reads half of it. */
const put = (text: string): void => {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
};

/** Several looks from now on. */
const looked = (): Promise<void> => {
  const from = looks;
  return until(() => looks > from + 4);
};

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'queen-watched-'));
  path = join(directory, 'cert');
  writeFileSync(path, 'old');
  [looks, used, refusals] = [0, [], []];
  files = WatchedFiles.read({
    get cert() {
      looks += 1;
      return path;
    },
  });
  const user = {
    use: ({ cert }: { readonly cert: Buffer }) => {
      if (cert.toString() === 'bad') throw new Error('bad');
      used.push(cert.toString());
    },
    refused: (error: unknown) => void refusals.push((error as { code?: string }).code ?? 'refused'),
  };
  files.watch(user, 1);
});

afterEach(() => {
  files.close();
  rmSync(directory, { recursive: true });
});

it('hands on what changed, once', async () => {
  put('new');
  await until(() => used.length > 0);
  await looked();
  expect([used, refusals, files.files.cert.toString()]).toEqual([['new'], [], 'new']);
});

it.each<[string, () => void, string]>([
  ['cannot be used', () => put('bad'), 'refused'],
  ['cannot be read', () => rmSync(path), 'ENOENT'],
])('what %s is told once', async (_, spoil, told) => {
  spoil();
  await until(() => refusals.length > 0);
  await looked();
  expect([used, refusals, files.files.cert.toString()]).toEqual([[], [told], 'old']);
});
