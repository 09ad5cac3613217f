/** Restarts of a single voter: what comes back, and what is refused with file and cure. */
import { open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { asPush, pushCommand } from '../../../test/support/group-commands.js';
import { GroupHarness, type HarnessOptions } from '../../../test/support/group-harness.js';

async function pushIds(h: GroupHarness, from: number, count: number) {
  const messages = Array.from({ length: count }, (_, i) => ({
    transactionId: `t${from + i}`,
    payload: 'x'.repeat(500),
  }));
  const [group] = asPush(await h.group.submit(pushCommand('q', 'p', messages), h.soon())).groups;
  if (group === undefined) throw new Error('no group');
  return group;
}

async function durable(h: GroupHarness): Promise<void> {
  const { applied } = h.group.status();
  while (h.group.status().durable < applied) {
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

describe('recovery', () => {
  let h: GroupHarness;
  const create = async (options: HarnessOptions): Promise<void> => {
    h = await GroupHarness.create({ realDisk: true, ...options });
  };

  afterEach(async () => {
    await h.remove();
  });

  it('rebuilds everything from the log when the store is gone and nothing was purged', async () => {
    await create({});
    const { partitionId } = await pushIds(h, 0, 20);
    await h.close();
    await rm(join(h.directory, 'store'), { recursive: true });
    await rm(join(h.directory, 'checkpoint'));
    await h.open();
    expect(await h.group.readMessages(partitionId, 0, 99)).toHaveLength(20);
    expect([...(await pushIds(h, 19, 2)).statuses]).toEqual([1, 0]);
  });

  it('refuses a store that knows more than the log', async () => {
    await create({});
    await pushIds(h, 0, 20);
    await durable(h);
    await h.close();
    await rm(join(h.directory, 'wal'), { recursive: true });
    await rm(join(h.directory, 'identity'));
    await expect(h.open()).rejects.toThrow(/acknowledged records are missing.*restore a backup/s);
  });

  it('refuses a missing log of a directory that was ready', async () => {
    await create({});
    await pushIds(h, 0, 1);
    await h.close();
    await rm(join(h.directory, 'wal'), { recursive: true });
    await expect(h.open()).rejects.toThrow(/manifest is missing/);
  });

  it('refuses another node id', async () => {
    await create({});
    await h.close();
    const { openLocalGroup } = await import('../open-local-group.js');
    await expect(openLocalGroup({ directory: h.directory, nodeId: 2 })).rejects.toThrow(
      /belongs to node 1/,
    );
  });

  it('rebuilds the id index when a run is gone', async () => {
    await create({ idTableBits: 6 });
    for (let i = 0; i < 10; i += 1) await pushIds(h, i * 40, 40);
    await durable(h);
    await pushIds(h, 400, 1);
    await h.close();
    const runs = (await readdir(join(h.directory, 'ids'))).filter((name) => name.endsWith('.run'));
    expect(runs.length).toBeGreaterThan(0);
    for (const name of runs) await rm(join(h.directory, 'ids', name));
    await h.open();
    expect(h.lines.some((line) => line.event.startsWith('id index was incomplete'))).toBe(true);
    for (let i = 0; i < 10; i += 1) {
      const again = await pushIds(h, i * 40, 40);
      expect(new Set(again.statuses)).toEqual(new Set([1]));
    }
  });

  it('reads messages of rows and segments that left memory', async () => {
    await create({ tailCacheBytes: 1, segmentBytes: 1024 * 1024 });
    let partitionId = 0;
    for (let i = 0; i < 30; i += 1) ({ partitionId } = await pushIds(h, i * 100, 100));
    await durable(h);
    await h.close();
    await h.open();
    const messages = await h.group.readMessages(partitionId, 150, 2849);
    expect(messages).toHaveLength(2700);
    expect(messages.map((message) => message.offset)).toEqual(
      Array.from({ length: 2700 }, (_, i) => 150 + i),
    );
    expect(messages[0]?.baseOffset).toBe(100);
  });

  it('stops, and serves nothing, when a stored message is damaged', async () => {
    await create({ tailCacheBytes: 1 });
    const { partitionId } = await pushIds(h, 0, 10);
    await durable(h);
    const [name] = (await readdir(join(h.directory, 'wal'))).filter((file) => /^\d/.test(file));
    const path = join(h.directory, 'wal', name ?? '');
    const bytes = await readFile(path);
    const at = bytes.indexOf('xxxxxxxxxx');
    const file = await open(path, 'r+');
    await file.write(Buffer.from('y'), 0, 1, at + 3);
    await file.close();
    await expect(h.group.readMessages(partitionId, 0, 9)).rejects.toMatchObject({ code: 'retry' });
    // Soon: pops that met the damage hand their grants back first.
    const end = performance.now() + 60_000;
    while (h.group.status().role !== 'stopped' && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const { role, failure } = h.group.status();
    expect(role).toBe('stopped');
    expect(failure?.error).toMatch(
      /record checksum.*damaged record at byte \d+ of .*wal.*restore/s,
    );
    await expect(pushIds(h, 10, 1)).rejects.toMatchObject({ code: 'retry' });
  });
});
