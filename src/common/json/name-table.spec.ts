/**
 * The names of one request: numbers in first-seen order, each name kept once, owners kept apart.
 */
import { BinaryWriter } from '../binary-writer.js';
import { encodeUtf8 } from '../utf8.js';
import { NameTable } from './name-table.js';

const arena = new BinaryWriter();
const table = new NameTable(arena);

function intern(name: string, owner: number): number {
  const start = arena.length;
  arena.raw(encodeUtf8(name));
  return table.intern(start, owner);
}

describe('NameTable', () => {
  beforeEach(() => {
    arena.clear();
    table.clear();
  });

  it('numbers names in first-seen order and keeps each once', () => {
    expect(['b', 'a', 'b', 'ä', '', 'a', ''].map((name) => intern(name, 0))).toEqual([
      0, 1, 0, 2, 3, 1, 3,
    ]);
    expect(arena.length).toBe(4);
    expect([0, 1, 2, 3].map((number) => table.text(number))).toEqual(['b', 'a', 'ä', '']);
    expect([intern('a', 7), table.ownerOf(4), table.count]).toEqual([4, 7, 5]);
  });

  it('keeps equal names of different owners apart', () => {
    let wrong = 0;
    for (let owner = 0; owner < 20_000; owner++) if (intern('p', owner) !== owner) wrong += 1;
    for (let owner = 0; owner < 20_000; owner++) if (intern('p', owner) !== owner) wrong += 1;
    expect([wrong, table.count]).toEqual([0, 20_000]);
  });
});
