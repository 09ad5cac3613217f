/** Rows of the machine: what an entry can read is fetched once, however often it is named. */
import type { Overlay, Store } from '../storage/index.js';
import { MachineRows } from './row-ports.js';
import type { TailIndex } from './group/tail-index.js';

const overlay = { get: () => undefined, releaseCount: 0 } as unknown as Overlay;
const tail = {} as TailIndex;

describe('rows of the machine', () => {
  it('a key that is named often is read once; absent rows are known to be absent', async () => {
    const asked: string[] = [];
    const store = {
      getMany: (keys: Uint8Array[]) => {
        asked.push(...keys.map((key) => Buffer.from(key).toString()));
        return Promise.resolve(keys.map((key) => (key[0] === 97 ? Buffer.from('A') : undefined)));
      },
      getSync: () => {
        throw new Error('read again');
      },
    } as unknown as Store;
    const rows = new MachineRows(store, overlay, tail);
    const keys = ['a', 'b', 'a', 'b', 'a'].map((key) => Buffer.from(key));
    await rows.load(keys);
    expect(asked).toEqual(['a', 'b']);
    expect(rows.get(Buffer.from('a'))?.toString()).toBe('A');
    expect(rows.get(Buffer.from('b'))).toBeUndefined();
    expect(rows.operations.read).toBe(2);
  });
});
