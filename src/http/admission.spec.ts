/** Admission: the budget, the FIFO, the hold, growth of unannounced bodies, and who gives bytes back. */
import { QueenError } from '../common/errors.js';
import { Admission, type Permit } from './admission.js';

function admission(maxBytes: number, random = 0.5): Admission {
  return new Admission({ maxBytes, holdMs: 1_000, random: () => random });
}

interface Watched {
  readonly permit: Permit;
  /** 'held', or the code of the refusal. */
  outcome: string | null;
}

function ask(gate: Admission, bytes: number): Watched {
  const permit = gate.request(bytes);
  const watched: Watched = { permit, outcome: permit.isHeld ? 'held' : null };
  if (!permit.isHeld) {
    permit.whenDecided((error) => {
      watched.outcome = error === undefined ? 'held' : error.code;
    });
  }
  return watched;
}

describe('admission', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('holds up to the budget and lets the rest wait, first come first served', () => {
    const gate = admission(100);
    const [a, b, c, d] = [60, 40, 1, 99].map((bytes) => ask(gate, bytes));
    expect([a, b, c, d].map((one) => one?.outcome)).toEqual(['held', 'held', null, null]);
    expect([gate.heldBytes, gate.waiting, gate.waited]).toEqual([100, 2, 2]);
    b?.permit.release();
    // 99 bytes would not fit beside 60 + 1; nobody passes the one in front.
    expect([c?.outcome, d?.outcome, gate.heldBytes]).toEqual(['held', null, 61]);
    a?.permit.release();
    expect([d?.outcome, gate.heldBytes]).toEqual(['held', 100]);
  });

  it('does not let a small one pass a large one that waits', () => {
    const gate = admission(100);
    const first = ask(gate, 50);
    const large = ask(gate, 80);
    const small = ask(gate, 1);
    expect([large.outcome, small.outcome]).toEqual([null, null]);
    first.permit.release();
    expect([large.outcome, small.outcome]).toEqual(['held', 'held']);
  });

  it('runs one that is larger than the budget alone', () => {
    const gate = admission(100);
    const huge = ask(gate, 500);
    const other = ask(gate, 1);
    expect([huge.outcome, other.outcome]).toEqual(['held', null]);
    huge.permit.release();
    const next = ask(gate, 500);
    expect([other.outcome, next.outcome]).toEqual(['held', null]);
    other.permit.release();
    expect(next.outcome).toBe('held');
  });

  it('counts holders, not bytes: an empty request does not make a huge one run beside it', () => {
    const gate = admission(100);
    const empty = ask(gate, 0);
    expect(ask(gate, 500).outcome).toBeNull();
    empty.permit.release();
    expect(gate.heldBytes).toBe(500);
  });

  it('gives bytes back exactly once', () => {
    const gate = admission(100);
    const { permit } = ask(gate, 60);
    ask(gate, 40);
    permit.release();
    permit.release();
    expect(gate.heldBytes).toBe(40);
  });

  it.each([
    [0, 750],
    [0.5, 1_000],
    [0.999, 1_249],
  ])('refuses after the hold, spread by random %d to about %i ms', (random, afterMs) => {
    const gate = admission(10, random);
    ask(gate, 10);
    const late = ask(gate, 1);
    jest.advanceTimersByTime(afterMs - 1);
    expect(late.outcome).toBeNull();
    jest.advanceTimersByTime(2);
    expect([late.outcome, gate.refused, gate.waiting]).toEqual(['overloaded', 1, 0]);
    late.permit.release();
    expect(gate.heldBytes).toBe(10);
  });

  it('lets those behind a refused one in when they fit', () => {
    const gate = admission(100);
    ask(gate, 60);
    const large = ask(gate, 80);
    jest.advanceTimersByTime(500);
    const small = ask(gate, 10);
    jest.advanceTimersByTime(501);
    expect([large.outcome, small.outcome]).toEqual(['overloaded', 'held']);
  });

  it.each([
    [0, 1],
    [0.5, 3],
    [0.999, 5],
  ])('random %d asks to come back after %i s', (random, seconds) => {
    const error = admission(1, random).overloaded();
    expect(error).toBeInstanceOf(QueenError);
    expect([error.code, error.fields['retryAfter']]).toEqual(['overloaded', seconds]);
  });

  it('forgets a client that left while it waited', () => {
    const gate = admission(100);
    const first = ask(gate, 100);
    const gone = ask(gate, 50);
    const next = ask(gate, 50);
    gone.permit.release();
    expect([gate.waiting, gate.heldBytes]).toEqual([1, 100]);
    first.permit.release();
    expect([gone.outcome, next.outcome, gate.heldBytes]).toEqual([null, 'held', 50]);
    jest.advanceTimersByTime(5_000);
    expect([gone.outcome, gate.refused]).toEqual([null, 0]);
  });

  it('lets those behind in when the front leaves', () => {
    const gate = admission(100);
    ask(gate, 60);
    const front = ask(gate, 80);
    const behind = ask(gate, 10);
    front.permit.release();
    expect(behind.outcome).toBe('held');
  });

  describe('growth', () => {
    it('is taken while the budget has room, and given back with the rest', () => {
      const gate = admission(100);
      ask(gate, 30);
      const { permit } = ask(gate, 0);
      expect([permit.grow(40), permit.grow(30), gate.heldBytes]).toEqual([true, true, 100]);
      expect([permit.grow(1), gate.heldBytes, gate.refused]).toEqual([false, 100, 1]);
      permit.release();
      expect(gate.heldBytes).toBe(30);
    });

    it('has no bound for one that runs alone', () => {
      const gate = admission(100);
      const { permit } = ask(gate, 0);
      expect(permit.grow(1_000)).toBe(true);
      expect(ask(gate, 1).outcome).toBeNull();
    });

    it('is nothing after the release', () => {
      const gate = admission(100);
      const { permit } = ask(gate, 1);
      permit.release();
      expect([permit.grow(5), gate.heldBytes]).toEqual([false, 0]);
    });
  });

  it('0 turns it off', () => {
    const gate = admission(0);
    const all = [1e9, 1e9, 1e9].map((bytes) => ask(gate, bytes));
    expect(all.every(({ outcome }) => outcome === 'held')).toBe(true);
    expect(all[0]?.permit.grow(1e9)).toBe(true);
  });
});
