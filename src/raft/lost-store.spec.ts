/**
 * The order in which a lost store is settled, each step durable before the next: with the checkpoint gone
 * and the ids back after a power loss, a replay would take its own messages for duplicates.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { GroupHarness } from '../../test/support/group-harness.js';
import { pushCommand } from '../../test/support/group-commands.js';
import { settleLostStore } from './lost-store.js';
import { silentLog } from './group-files.js';

const mockSynced = jest.fn<void, [string]>();

jest.mock('../storage/index.js', () => {
  const actual = jest.requireActual<typeof import('../storage/index.js')>('../storage/index.js');
  return {
    ...actual,
    syncDirectory: (directory: string) => {
      mockSynced(directory);
      return actual.syncDirectory(directory);
    },
  };
});

describe('a lost store', () => {
  let h: GroupHarness;

  beforeEach(async () => {
    h = await GroupHarness.create();
    const command = pushCommand('q', 'p', [{ transactionId: 'a', payload: 'x' }]);
    await h.group.submit(command, h.soon());
    await h.close();
    rmSync(join(h.directory, 'store'), { recursive: true });
  });

  afterEach(() => h.remove());

  const settle = (firstIndex: number, isAlone = true): Promise<void> => {
    const wal = { firstIndex, lastIndex: 1_000 } as Parameters<typeof settleLostStore>[0]['wal'];
    return settleLostStore({ directory: h.directory, wal, isAlone, log: silentLog });
  };

  it('lets go of the ids durably, then of the checkpoint durably', async () => {
    const left: unknown[] = [];
    const has = (name: string): boolean => existsSync(join(h.directory, name));
    mockSynced.mockImplementation((directory) => {
      if (directory === h.directory) left.push({ ids: has('ids'), checkpoint: has('checkpoint') });
    });
    await settle(1);
    expect(left).toEqual([
      { ids: false, checkpoint: true },
      { ids: false, checkpoint: false },
    ]);
  });

  it('is refused when the log was purged, and left alone in a cluster', async () => {
    await expect(settle(5)).rejects.toThrow(/store is gone .* purged up to index 4/);
    await settle(1, false);
    expect(existsSync(join(h.directory, 'checkpoint'))).toBe(true);
  });
});
