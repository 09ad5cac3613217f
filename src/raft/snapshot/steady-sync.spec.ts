/** When bulk writes are synced: every few MiB, all files that grew, and all at the end. */
import { SteadySync, SYNC_EVERY_BYTES } from './steady-sync.js';

function files(): { readonly file: (name: string) => never; readonly calls: string[] } {
  const calls: string[] = [];
  const told = (text: string) => (): Promise<void> => {
    calls.push(text);
    return Promise.resolve();
  };
  const file = (name: string): never =>
    ({ datasync: told(`sync ${name}`), close: told(`close ${name}`) }) as never;
  return { file, calls };
}

describe('steady sync', () => {
  it('syncs a file again and again while it grows', async () => {
    const { file, calls } = files();
    const [sync, large] = [new SteadySync(), file('large')];
    for (let i = 0; i < 5; i += 1) await sync.wrote(large, SYNC_EVERY_BYTES / 2);
    expect(calls).toEqual(['sync large', 'sync large']);
    sync.end(large);
    await sync.sync();
    expect(calls.slice(2)).toEqual(['sync large', 'close large']);
  });

  it('syncs small files together, also those that ended, and closes these then', async () => {
    const { file, calls } = files();
    const sync = new SteadySync();
    for (const name of ['a', 'b', 'c']) {
      const small = file(name);
      await sync.wrote(small, SYNC_EVERY_BYTES / 2 - 1);
      if (name !== 'c') sync.end(small);
    }
    expect(calls).toEqual(['sync a', 'sync b', 'sync c', 'close a', 'close b']);
  });

  it('syncs an empty file, and only once', async () => {
    const { file, calls } = files();
    const sync = new SteadySync();
    sync.end(file('empty'));
    await sync.sync();
    await sync.sync();
    await sync.close();
    expect(calls).toEqual(['sync empty', 'close empty']);
  });

  it('closes what ended after a failed sync', async () => {
    const { file, calls } = files();
    const sync = new SteadySync();
    const broken = {
      ...(file('broken') as object),
      datasync: () => Promise.reject(new Error('x')),
    };
    sync.end(broken as never);
    await expect(sync.sync()).rejects.toThrow('x');
    await sync.close();
    expect(calls).toEqual(['close broken']);
  });
});
