/** Without a leader: a node that serves waits on, one that leaves gives up after an election's time. */
import { LeaderWait } from './leader-wait.js';

describe('a node without a leader', () => {
  let nowMs = 0;
  let hasLeader = false;
  let wait: LeaderWait;

  beforeEach(() => {
    [nowMs, hasLeader] = [1_000, false];
    wait = new LeaderWait({ holdMs: 8_000, nowMs: () => nowMs, hasLeader: () => hasLeader });
  });

  const pass = (ms: number): boolean => {
    wait.tick();
    nowMs += ms;
    wait.tick();
    return wait.isHopeless;
  };

  it('that serves never gives up what is in flight', () => {
    expect(pass(60_000)).toBe(false);
  });

  it('that leaves does after 3 s without one', () => {
    wait.leaving();
    expect(pass(2_900)).toBe(false);
    expect(pass(100)).toBe(true);
  });

  it('begins anew with every leader', () => {
    wait.leaving();
    expect(pass(2_900)).toBe(false);
    hasLeader = true;
    expect(pass(5_000)).toBe(false);
    hasLeader = false;
    expect(pass(2_900)).toBe(false);
    expect(pass(100)).toBe(true);
  });
});
