/** The record of how many raft groups a directory holds: durable before a group is made, then binding. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkGroupCount, makeGroupCount } from './group-directories.js';
import { NodeFilePort } from './wal/index.js';

describe('the number of groups', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'queen-groups-'));
  });

  afterEach(() => {
    jest.restoreAllMocks();
    rmSync(directory, { recursive: true, force: true });
  });

  it('is on the disk when it resolves, also when a start before was killed half way', async () => {
    const synced = jest.spyOn(NodeFilePort.prototype, 'fsyncDir');
    await makeGroupCount(directory, 3);
    expect(synced).toHaveBeenCalledWith(directory);
    // The name may be in the page cache alone: nothing after it may rely on that.
    synced.mockClear();
    await makeGroupCount(directory, 3);
    expect(synced).toHaveBeenCalledWith(directory);
  });

  it('binds every later start', async () => {
    await makeGroupCount(directory, 3);
    await expect(checkGroupCount(directory, 3)).resolves.toBeUndefined();
    await expect(makeGroupCount(directory, 2)).rejects.toThrow('QUEEN_RAFT_GROUPS=3');
    await expect(checkGroupCount(directory, 1)).rejects.toThrow('QUEEN_RAFT_GROUPS=3');
  });
});
