/** Sessions: floor and seen window, newer boots, repeats and late entries of older ones. */
import fc from 'fast-check';
import { SESSION_WINDOW, SeenWindow } from './seen-window.js';
import { SessionTableImpl } from './session-table.js';

const DIRECTORY = new Uint8Array(16).fill(1);

function reloaded(sessions: SessionTableImpl, store: Map<string, Uint8Array>): SessionTableImpl {
  sessions.flush({
    get: () => undefined,
    put: (key, value) => void store.set(Buffer.from(key).toString('hex'), value),
    delete: () => undefined,
  });
  const copy = new SessionTableImpl();
  for (const [key, value] of store) copy.load(Buffer.from(key, 'hex'), value);
  return copy;
}

describe('SessionTable', () => {
  it('admits each sequence once, as a set of numbers does, over restarts', () => {
    const step = fc.tuple(fc.nat(70), fc.nat(60), fc.nat(9));
    const jump = fc.constantFrom(0, 1, 63, 65_000, 70_000, 2 ** 33);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), jump, (steps, base) => {
        let sessions = new SessionTableImpl();
        const store = new Map<string, Uint8Array>();
        sessions.open(10, 1, DIRECTORY, 1);
        const seen = new Set<number>();
        let lowest = 0;
        for (const [ahead, behind, kind] of steps) {
          const sequence = base + ahead * (kind === 0 ? 1500 : 1);
          const floor = Math.max(0, sequence - behind);
          const fresh = sequence >= lowest && !seen.has(sequence);
          const inside = sequence < Math.max(lowest, floor) + SESSION_WINDOW;
          const wanted = fresh ? (inside ? 'fresh' : 'ended') : 'seen';
          expect(sessions.admit(10, sequence, floor)).toBe(wanted);
          if (wanted === 'fresh') {
            seen.add(sequence);
            lowest = Math.max(lowest, floor);
          }
          if (kind === 1) sessions = reloaded(sessions, store);
        }
      }),
    );
  });

  it('ends the older session of a node and keeps those of others', () => {
    const sessions = new SessionTableImpl();
    sessions.open(10, 1, DIRECTORY, 1);
    sessions.open(11, 2, DIRECTORY, 1);
    expect(sessions.admit(10, 1, 1)).toBe('fresh');
    sessions.open(20, 1, DIRECTORY, 2);
    expect(sessions.ofNode(1)).toBe(20);
    expect(sessions.ofNode(3)).toBe(0);
    expect(sessions.admit(10, 2, 1)).toBe('ended');
    expect(sessions.admit(20, 1, 1)).toBe('fresh');
    expect(sessions.admit(20, 1, 1)).toBe('seen');
    expect(sessions.admit(11, 1, 1)).toBe('fresh');
    expect(sessions.admit(99, 1, 1)).toBe('ended');
    expect(sessions.admit(0, 1, 1)).toBe('fresh');
    const copy = reloaded(sessions, new Map());
    expect([copy.ofNode(1), copy.ofNode(2)]).toEqual([20, 11]);
    expect(copy.admit(20, 1, 1)).toBe('seen');
    expect(copy.admit(20, 2, 1)).toBe('fresh');
  });

  it('ignores a late opening of an older boot, but not of a new directory', () => {
    const sessions = new SessionTableImpl();
    sessions.open(10, 1, DIRECTORY, 5);
    sessions.open(12, 1, DIRECTORY, 4);
    expect(sessions.ofNode(1)).toBe(10);
    sessions.open(13, 1, new Uint8Array(16).fill(2), 1);
    expect(sessions.ofNode(1)).toBe(13);
  });
});

describe('SeenWindow', () => {
  it('describes the same bits from any floor', () => {
    const offset = fc.oneof(fc.nat(SESSION_WINDOW - 1), fc.nat(300));
    const numbers = fc.array(offset, { maxLength: 50 });
    fc.assert(
      fc.property(fc.nat(2 ** 40), fc.nat(200), numbers, (start, raise, offsets) => {
        const window = new SeenWindow();
        window.raiseFloor(start);
        for (const offset of offsets) window.note(start + offset);
        window.raiseFloor(start + raise);
        const copy = SeenWindow.fromBits(window.floor, window.toBits());
        expect(copy.toBits()).toEqual(window.toBits());
        for (const offset of [...offsets, 0, raise, 65_535]) {
          expect(copy.isSeen(start + offset)).toBe(window.isSeen(start + offset));
          const wanted = offset < raise || offsets.includes(offset);
          expect(window.isSeen(start + offset)).toBe(wanted);
          if (offset < raise) expect(window.isSeen(start + offset + SESSION_WINDOW)).toBe(false);
        }
      }),
    );
    expect(() => new SeenWindow().note(SESSION_WINDOW)).toThrow('outside the window');
  });
});
