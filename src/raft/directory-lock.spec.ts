/** The lock of a data directory: one holder, given back, made anew when its own files are damaged. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DirectoryLocked, lockDirectory } from './directory-lock.js';

describe('directory lock', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'queen-lock-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('has one holder at a time', async () => {
    const lock = await lockDirectory(directory);
    await expect(lockDirectory(directory)).rejects.toThrow(DirectoryLocked);
    await lock.release();
    await (await lockDirectory(directory)).release();
  });

  it('is made anew when its files are damaged', async () => {
    await (await lockDirectory(directory)).release();
    const path = join(directory, 'lock');
    for (const name of await readdir(path)) await writeFile(join(path, name), 'damaged');
    const lock = await lockDirectory(directory);
    await expect(lockDirectory(directory)).rejects.toThrow(DirectoryLocked);
    await lock.release();
  });
});
