/** First contact of an unregistered group (spec §2.3): kept, replaced, gone, and the same after a restart. */
import { MachineHarness } from '../../../test/support/machine-harness.js';
import { StartMode } from '../commands/catalogue.js';

const contact = (harness: MachineHarness, mode: StartMode, instant = 0) =>
  harness.register('g', {
    ...{ createQueue: false, contact: 'p', mode, instant: instant as never },
  });

const start = (harness: MachineHarness) => {
  const { cursors } = harness.tables;
  const cursor = harness.cursor();
  if (cursor < 0) return null;
  return {
    isStart: cursors.isStart(cursor),
    committed: cursors.committed(cursor),
    createdAt: cursors.createdAt(cursor),
  };
};

describe('first contact', () => {
  let harness: MachineHarness;

  beforeEach(() => {
    harness = new MachineHarness();
    harness.push(['a', 'b']);
    harness.advance(10);
  });

  it('"new" starts behind what is there, registers nothing', () => {
    const outcome = contact(harness, StartMode.New);
    expect(outcome.queueId).toBeNull();
    const now = harness.machine.lastStamp();
    expect(start(harness)).toEqual({ isStart: true, committed: 1, createdAt: now });
    expect(harness.tables.registrations.find(1 as never, outcome.groupId!)).toBeUndefined();
  });

  it.each([
    ['before the first message', -20, -1],
    ['behind the last message', -5, 1],
    ['to come', 60, 1],
  ])('an instant %s', (_what, seconds, committed) => {
    const instant = harness.now + seconds * 1_000_000;
    contact(harness, StartMode.Timestamp, instant);
    expect(start(harness)).toEqual({ isStart: true, committed, createdAt: instant });
  });

  it('is kept over a restart, and the digest tells it from another start', () => {
    const other = new MachineHarness();
    other.push(['a', 'b']);
    other.advance(10);
    contact(harness, StartMode.Timestamp, harness.now - 5);
    contact(other, StartMode.Timestamp, harness.now - 6);
    expect(harness.machine.encodeHeader()).not.toEqual(other.machine.encodeHeader());
    const reloaded = harness.reloaded();
    expect(start(reloaded)).toEqual(start(harness));
    expect(reloaded.machine.encodeHeader()).toEqual(harness.machine.encodeHeader());
  });

  it('changes nothing for a registered group, one with a cursor, or where nothing is', () => {
    harness.claim({ count: 1 });
    const before = start(harness);
    contact(harness, StartMode.New);
    expect(start(harness)).toEqual(before);
    harness.register('h');
    harness.register('h', { createQueue: false, contact: 'p', mode: StartMode.New });
    expect(harness.cursor('h')).toBe(-1);
    harness.register('i', { queue: 'nowhere', createQueue: false, contact: 'p' });
    harness.register('i', { createQueue: false, contact: 'nowhere' });
    expect(harness.cursor('i')).toBe(-1);
    const none = harness.register('__QUEUE_MODE__', { createQueue: false, contact: 'p' });
    expect(none.groupId).not.toBeNull();
    expect(harness.cursor('__QUEUE_MODE__')).toBe(-1);
  });

  it('ends with the first claim, which says from where', () => {
    contact(harness, StartMode.New);
    harness.advance(10);
    harness.push(['c']);
    const grant = harness.claim({ range: { seedCommitted: 1, firstOffset: 2 as never } });
    expect(grant.ranges).toMatchObject([{ firstOffset: 2, lastOffset: 2 }]);
    const now = harness.machine.lastStamp();
    expect(start(harness)).toEqual({ isStart: false, committed: 1, createdAt: now });
  });

  it('fences a claim that saw the partition without it', () => {
    const blind = harness.claimBytes({});
    contact(harness, StartMode.New);
    const { outcomes } = harness.entry(blind);
    expect(outcomes[0]?.outcome).toMatchObject({ grants: [{ ranges: [] }] });
  });

  it('ends with an unfenced ack that moves it, not with one that does not', () => {
    contact(harness, StartMode.Timestamp, harness.now - 20_000_000);
    harness.ack({ signals: [[0, 'failed']] });
    expect(start(harness)).toMatchObject({ isStart: true, committed: -1 });
    expect(harness.ack({ completed: [0] })).toMatchObject({ verdict: 'applied' });
    expect(start(harness)).toMatchObject({ isStart: false, committed: 0 });
  });
});
