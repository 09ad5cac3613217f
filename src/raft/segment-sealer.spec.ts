/** The active segment is sealed when it has held entries for long enough, an empty one never. */
import { SegmentSealer } from './segment-sealer.js';

describe('SegmentSealer', () => {
  let nowMs: number;
  let active: { sequence: number; first: number; last: number };
  let rolls: number;
  let warnings: number;
  let failing: boolean;
  let sealer: SegmentSealer;

  beforeEach(() => {
    nowMs = 0;
    rolls = 0;
    warnings = 0;
    failing = false;
    active = { sequence: 1, first: 1, last: 0 };
    const wal = {
      segments: () => [{ sequence: 0, first: 0, last: 9 }, active],
      roll: (): Promise<void> => {
        if (failing) return Promise.reject(new Error('no space'));
        rolls += 1;
        active = { sequence: active.sequence + 1, first: active.last + 1, last: active.last };
        return Promise.resolve();
      },
    };
    const log = { info: () => undefined, warn: () => (warnings += 1), error: () => undefined };
    sealer = new SegmentSealer({ wal, log: log, nowMs: () => nowMs }, 1000);
  });

  const lookAt = async (atMs: number): Promise<void> => {
    nowMs = atMs;
    sealer.look();
    await sealer.stop();
  };

  it('counts the age from the first entry it saw', async () => {
    await lookAt(5_000);
    active = { ...active, last: 3 };
    await lookAt(6_000);
    await lookAt(6_999);
    expect(rolls).toBe(0);
    await lookAt(7_000);
    expect(rolls).toBe(1);
    await lookAt(20_000);
    expect(rolls).toBe(1);
  });

  it('starts anew with a segment that was begun meanwhile', async () => {
    active = { ...active, last: 3 };
    await lookAt(0);
    active = { sequence: 2, first: 4, last: 8 };
    await lookAt(1_500);
    expect(rolls).toBe(0);
    await lookAt(2_500);
    expect(rolls).toBe(1);
  });

  it('tells of a failure and tries again', async () => {
    active = { ...active, last: 3 };
    failing = true;
    await lookAt(0);
    await lookAt(1_000);
    expect([rolls, warnings]).toEqual([0, 1]);
    failing = false;
    await lookAt(1_100);
    expect(rolls).toBe(1);
  });
});
