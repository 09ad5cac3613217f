/** Progress transitions and the in-flight window: the arithmetic behind flow control. */
import { logIndex } from '../../common/ids.js';
import { Inflights } from './inflights.js';
import { Progress } from './progress.js';

const at = logIndex;

describe('in-flight window', () => {
  it('frees everything up to the acknowledged index, across the ring end', () => {
    const window = new Inflights({ maxMessages: 10, maxBytes: 0 });
    for (let i = 1; i <= 10; i += 1) window.add(at(i), 1);
    expect(window.full()).toBe(true);
    window.freeThrough(at(7));
    expect(window.count).toBe(3);
    for (let i = 11; i <= 17; i += 1) window.add(at(i), 1);
    expect(window.full()).toBe(true);
    window.freeThrough(at(12));
    expect(window.count).toBe(5);
    window.freeThrough(at(3));
    expect(window.count).toBe(5);
    window.freeThrough(at(99));
    expect(window.count).toBe(0);
  });

  it('is full by bytes as well, and lets one oversized message through', () => {
    const window = new Inflights({ maxMessages: 10, maxBytes: 100 });
    window.add(at(1), 99);
    expect(window.full()).toBe(false);
    window.add(at(2), 500);
    expect(window.full()).toBe(true);
    window.freeThrough(at(1));
    expect(window.full()).toBe(true);
    window.freeThrough(at(2));
    expect(window.full()).toBe(false);
  });

  it('resets its byte count with its contents', () => {
    const window = new Inflights({ maxMessages: 10, maxBytes: 100 });
    window.add(at(1), 100);
    window.reset();
    expect([window.full(), window.count]).toEqual([false, 0]);
  });

  it('refuses to overfill', () => {
    const window = new Inflights({ maxMessages: 1, maxBytes: 0 });
    window.add(at(1), 1);
    expect(() => window.add(at(2), 1)).toThrow('full window');
  });
});

function progress(
  state: 'probe' | 'replicate' | 'snapshot',
  match: number,
  next: number,
): Progress {
  const made = new Progress(at(1), { maxMessages: 2, maxBytes: 0 });
  made.acknowledge(at(match));
  if (state === 'replicate') made.becomeReplicate();
  if (state === 'snapshot') made.becomeSnapshot(at(next - 1));
  made.next = at(next);
  return made;
}

describe('progress', () => {
  it.each([
    // stale: already acknowledged
    ['replicate', 5, 10, { rejected: 5, hint: 5 }, false, 10],
    ['replicate', 5, 10, { rejected: 4, hint: 4 }, false, 10],
    ['replicate', 5, 10, { rejected: 9, hint: 9 }, true, 6],
    // not the probe in flight
    ['probe', 0, 10, { rejected: 8, hint: 7 }, false, 10],
    ['probe', 0, 10, { rejected: 9, hint: 9 }, true, 9],
    ['probe', 0, 10, { rejected: 9, hint: 2 }, true, 3],
    ['probe', 0, 2, { rejected: 1, hint: 0 }, true, 1],
    // never at or below what is acknowledged
    ['probe', 4, 10, { rejected: 9, hint: 0 }, true, 5],
  ] as const)('%s match %i next %i, refusal %j', (state, match, next, refusal, moved, expected) => {
    const subject = progress(state, match, next);
    expect(subject.stepBack(at(refusal.rejected), at(refusal.hint))).toBe(moved);
    expect(subject.next).toBe(expected);
    expect(subject.next).toBeGreaterThan(subject.match);
  });

  it('acknowledging old news changes nothing', () => {
    const subject = progress('replicate', 5, 8);
    expect(subject.acknowledge(at(5))).toBe(false);
    expect(subject.acknowledge(at(4))).toBe(false);
    expect([subject.match, subject.next]).toEqual([5, 8]);
  });

  it('an acknowledgement lifts the pause and keeps next ahead', () => {
    const subject = progress('probe', 3, 4);
    subject.paused = true;
    expect(subject.acknowledge(at(9))).toBe(true);
    expect([subject.match, subject.next, subject.isPaused()]).toEqual([9, 10, false]);
  });

  it('probing after a snapshot starts behind it', () => {
    const subject = progress('snapshot', 1, 11);
    subject.becomeProbe();
    expect([subject.next, subject.pendingSnapshot]).toEqual([11, 0]);
    const failed = progress('snapshot', 1, 11);
    failed.pendingSnapshot = at(0);
    failed.becomeProbe();
    expect(failed.next).toBe(2);
  });

  it('a probe pauses after one append with entries, replication when the window is full', () => {
    const probing = progress('probe', 0, 1);
    probing.sentAppend(0, 0);
    expect(probing.isPaused()).toBe(false);
    probing.sentAppend(3, 3);
    expect([probing.isPaused(), probing.next]).toEqual([true, 1]);
    const streaming = progress('replicate', 0, 1);
    streaming.sentAppend(3, 3);
    expect([streaming.isPaused(), streaming.next]).toEqual([false, 4]);
    streaming.sentAppend(1, 1);
    expect([streaming.isPaused(), streaming.next]).toEqual([true, 5]);
  });

  it('a change of state empties the window', () => {
    const subject = progress('replicate', 0, 1);
    subject.sentAppend(1, 1);
    subject.sentAppend(1, 1);
    subject.becomeProbe();
    expect([subject.inflights.count, subject.isPaused()]).toEqual([0, false]);
    subject.becomeReplicate();
    expect(subject.next).toBe(subject.match + 1);
  });

  it('wants the commit index only when it can use it', () => {
    const subject = progress('replicate', 5, 8);
    subject.noteSentCommit(at(5));
    expect(subject.wantsCommit(at(6))).toBe(true);
    subject.noteSentCommit(at(7));
    // Everything sent is known to be committed already.
    expect(subject.wantsCommit(at(9))).toBe(false);
  });
});
