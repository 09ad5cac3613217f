/** The small parts of the group, each against what it promises. */
import { QueenError } from '../../common/errors.js';
import { logIndex, micros, term } from '../../common/ids.js';
import { Prng } from '../../common/prng.js';
import { CommandKind, EntryReader, readCommandHeader } from '../../machine/commands/index.js';
import type { GrantOutcome, Outcome } from '../../machine/commands/index.js';
import { pushCommand, registerCommand } from '../../../test/support/group-commands.js';
import type { Call } from './call.js';
import { DeadlineWheel } from './deadline-wheel.js';
import { buildEntry, cutEntry, ENTRY_MAX_COMMANDS, patchCommand } from './entry-payload.js';
import type { PopRequest } from './group.js';
import { Intake, SESSION_WINDOW } from './intake.js';
import { LogClock } from './log-clock.js';
import { PopDesk } from './pop-desk.js';
import type { DispatchAnswer, DispatcherPort } from './ports.js';
import { ReadBarrier } from './read-barrier.js';
import { TailCache } from './tail-cache.js';
import { TailIndex } from './tail-index.js';

const OUTCOME: Outcome = { kind: CommandKind.RaiseVersion, version: 6 };

class ManualClock {
  wall = 1_000;
  mono = 5_000;
  nowMs = (): number => this.wall;
  monotonicMicros = (): number => this.mono * 1000;
}

describe('entry payload', () => {
  const stamp = { index: logIndex(7), term: term(2), now: micros(2 ** 40 + 3), machineVersion: 6 };

  it('is what the machine reads, with small and large commands', () => {
    const commands = [
      registerCommand('a', 'g').bytes,
      pushCommand('q', 'p', [{ transactionId: 't', payload: 'x'.repeat(100_000) }]).bytes,
      registerCommand('b', 'g').bytes,
      registerCommand('c', 'g').bytes,
    ];
    commands.forEach((bytes, i) =>
      patchCommand(bytes, { session: 2 ** 33, sequence: 10 + i, floor: 9 }),
    );
    const entry = buildEntry(stamp, commands);
    expect(entry.parts.length).toBe(3);
    expect(entry.sizeBytes).toBe(entry.parts.reduce((sum, part) => sum + part.length, 0));
    const reader = new EntryReader();
    expect(reader.open(entry.parts)).toBe(true);
    expect([reader.now, reader.count, reader.machineVersion]).toEqual([stamp.now, 4, 6]);
    const sequences: number[] = [];
    while (reader.next()) {
      const header = readCommandHeader(reader.bytes, reader.start, reader.end);
      expect(header.session).toBe(2 ** 33);
      sequences.push(header.sequence);
    }
    expect(sequences).toEqual([10, 11, 12, 13]);
  });

  it('of a new term is empty but stamped', () => {
    const reader = new EntryReader();
    const entry = buildEntry(stamp, []);
    expect(reader.open(entry.parts)).toBe(true);
    expect(reader.next()).toBe(false);
    expect(reader.now).toBe(stamp.now);
  });

  it('is cut by bytes and commands; one large command is one entry', () => {
    const small = { bytes: registerCommand('a', 'g').bytes };
    const large = {
      bytes: pushCommand('q', 'p', [{ transactionId: 't', payload: 'x'.repeat(5_000_000) }]).bytes,
    };
    expect(cutEntry([small, small, large, small], 0)).toBe(2);
    expect(cutEntry([small, small, large, small], 2)).toBe(1);
    const push = { bytes: pushCommand('q', 'p', [{ transactionId: 't', payload: 'x' }]).bytes };
    expect(cutEntry(new Array(5000).fill(push), 0)).toBe(ENTRY_MAX_COMMANDS);
    const session = { bytes: small.bytes.slice() };
    session.bytes[4] = CommandKind.OpenSession;
    expect(cutEntry([small, session, small], 0)).toBe(1);
    expect(cutEntry([session, small], 0)).toBe(1);
  });
});

describe('log clock', () => {
  it('never goes back and never gives a stamp twice', () => {
    const clock = new ManualClock();
    const log = new LogClock(clock, 1_000_000 + 500);
    const first = log.stamp();
    expect(first).toBe(1_000_501);
    expect(log.stamp()).toBe(first + 1);
    clock.wall = 0;
    clock.mono += 10;
    expect(log.stamp()).toBe(1_010_500);
    clock.mono += 1;
    expect(log.now()).toBe(1_011_500);
  });
});

describe('intake', () => {
  function setUp() {
    const clock = new ManualClock();
    const wheel = new DeadlineWheel(() => clock.mono);
    const queued: Call[] = [];
    const intake = new Intake(wheel, (call) => queued.push(call), 77);
    const submit = (deadlineMs = clock.mono + 1000): Promise<Outcome> =>
      intake.submit(new Uint8Array(40), { deadlineMs });
    return { clock, wheel, queued, intake, submit };
  }

  it('lets nobody in before the session is open, then in order', async () => {
    const { intake, queued, submit, wheel } = setUp();
    const outcomes = [submit(), submit()];
    expect(queued).toHaveLength(0);
    intake.openSession(5);
    expect(queued.map((call) => call.sequence)).toEqual([1, 2]);
    intake.settle(4, 1, OUTCOME);
    intake.settle(5, 2, OUTCOME);
    intake.settle(5, 1, OUTCOME);
    await expect(Promise.all(outcomes)).resolves.toEqual([OUTCOME, OUTCOME]);
    expect(intake.waiting).toBe(0);
    wheel.stop();
  });

  it('holds calls back at the bound of the window', () => {
    const { intake, queued, submit, wheel } = setUp();
    intake.openSession(5);
    const all: Promise<Outcome>[] = [];
    for (let i = 0; i < SESSION_WINDOW + 3; i += 1) all.push(submit());
    void Promise.allSettled(all);
    expect(queued).toHaveLength(SESSION_WINDOW);
    intake.settle(5, 2, OUTCOME);
    expect(queued).toHaveLength(SESSION_WINDOW);
    intake.settle(5, 1, OUTCOME);
    expect(queued).toHaveLength(SESSION_WINDOW + 2);
    intake.failAll(() => new QueenError('retry'));
    expect(intake.waiting).toBe(0);
    wheel.stop();
  });

  it('times out at the deadline, never early, and drops the late outcome', async () => {
    const { clock, wheel, intake, submit } = setUp();
    intake.openSession(5);
    let code = '';
    const done = submit(clock.mono + 100).catch((error: QueenError) => {
      code = error.code;
    });
    clock.mono += 99;
    wheel.advance();
    await Promise.resolve();
    expect(code).toBe('');
    clock.mono += 40;
    wheel.advance();
    await done;
    expect(code).toBe('timeout');
    expect(() => intake.settle(5, 1, OUTCOME)).not.toThrow();
  });

  it('stops waiting when the client goes away', async () => {
    const { intake, wheel } = setUp();
    intake.openSession(5);
    const abort = new AbortController();
    const outcome = intake.submit(new Uint8Array(40), { deadlineMs: 1e9, signal: abort.signal });
    abort.abort();
    await expect(outcome).rejects.toMatchObject({ code: 'timeout' });
    expect(intake.waiting).toBe(0);
    wheel.stop();
  });
});

describe('read barrier', () => {
  it('waits for entries and for commands not yet in one', async () => {
    const wheel = new DeadlineWheel(() => 0);
    const barrier = new ReadBarrier(wheel);
    const at = { lastIndex: logIndex(10), applied: logIndex(8) };
    const seen: string[] = [];
    const options = { deadlineMs: 1000 };
    const waits = [
      barrier
        .wait({ ...at, enqueued: 4, allPacked: true }, options)
        .then(() => seen.push('placed')),
      barrier
        .wait({ ...at, enqueued: 5, allPacked: false }, options)
        .then(() => seen.push('queued')),
    ];
    await barrier.wait(
      { enqueued: 4, allPacked: true, lastIndex: logIndex(8), applied: logIndex(8) },
      options,
    );
    barrier.applied(logIndex(9));
    await Promise.resolve();
    expect(seen).toEqual([]);
    barrier.applied(logIndex(10));
    await waits[0];
    barrier.packed(5, logIndex(12));
    barrier.applied(logIndex(11));
    await Promise.resolve();
    expect(seen).toEqual(['placed']);
    barrier.applied(logIndex(12));
    await Promise.all(waits);
    expect(seen).toEqual(['placed', 'queued']);
    expect(wheel.size).toBe(0);
    wheel.stop();
  });
});

describe('pop desk', () => {
  const grant = (session: number, sequence: number): GrantOutcome =>
    ({ ticket: { session, sequence }, ranges: [{}] }) as unknown as GrantOutcome;
  const answer: DispatchAnswer = {
    ...{ granted: true, conflation: true, conflationConflict: false, autopilot: null },
  };

  function setUp(run: (ticket: { session: number; sequence: number }) => Promise<DispatchAnswer>) {
    const returned: GrantOutcome[] = [];
    const desk = new PopDesk(
      () => 9,
      (given) => returned.push(given),
    );
    const dispatcher: DispatcherPort = {
      pop: (_request, ticket) => run(ticket),
      start: () => undefined,
      stop: () => undefined,
    };
    const pop = () => desk.pop(dispatcher, {} as PopRequest, { deadlineMs: 1 });
    return { desk, pop, returned };
  }

  it('answers with the grant that apply brought', async () => {
    const set: ReturnType<typeof setUp> = setUp((ticket) => {
      set.desk.granted(grant(ticket.session, ticket.sequence));
      return Promise.resolve(answer);
    });
    const got = await set.pop();
    expect(got.grant?.ticket.sequence).toBe(1);
    expect(got.conflation).toBe(true);
    expect(set.returned).toEqual([]);
  });

  it('hands back a second grant, one nobody waits for, and none of other sessions', async () => {
    const set: ReturnType<typeof setUp> = setUp((ticket) => {
      set.desk.granted(grant(9, ticket.sequence));
      set.desk.granted(grant(9, ticket.sequence));
      set.desk.granted(grant(8, ticket.sequence));
      return Promise.resolve(answer);
    });
    await set.pop();
    set.desk.granted(grant(9, 1));
    expect(set.returned).toHaveLength(2);
    expect(set.desk.size).toBe(0);
  });

  it('hands the grant back when the pop fails', async () => {
    const set: ReturnType<typeof setUp> = setUp((ticket) => {
      set.desk.granted(grant(9, ticket.sequence));
      return Promise.reject(new QueenError('retry'));
    });
    await expect(set.pop()).rejects.toMatchObject({ code: 'retry' });
    expect(set.returned).toHaveLength(1);
  });
});

describe('tail cache', () => {
  const entry = (index: number, ...parts: number[][]) => ({
    ...{ index: logIndex(index), term: term(1), commandCount: 1 },
    parts: parts.map((part) => Uint8Array.from(part)),
    sizeBytes: parts.flat().length,
  });

  const read = (cache: TailCache, index: number, start: number, length: number) =>
    cache.slice({ index: logIndex(index), start, length });

  it('copies ranges of the joined parts', () => {
    const cache = new TailCache(800);
    cache.add(entry(1, [1, 2, 3], [4, 5], [6]));
    cache.add(entry(2, [7, 8]));
    expect([...(read(cache, 1, 1, 2) ?? [])]).toEqual([2, 3]);
    expect([...(read(cache, 1, 2, 4) ?? [])]).toEqual([3, 4, 5, 6]);
    expect(read(cache, 1, 5, 2)).toBeUndefined();
    expect([...(read(cache, 2, 0, 2) ?? [])]).toEqual([7, 8]);
    expect(read(cache, 3, 0, 1)).toBeUndefined();
    expect(cache.sizeBytes).toBe(8);
  });

  it('drops the oldest entries at the bound and starts anew after a jump', () => {
    const cache = new TailCache(16);
    for (let index = 1; index <= 9; index += 1) cache.add(entry(index, [index, index]));
    expect(cache.sizeBytes).toBe(16);
    expect(read(cache, 1, 0, 1)).toBeUndefined();
    expect([...(read(cache, 2, 1, 1) ?? [])]).toEqual([2]);
    expect([...(read(cache, 9, 0, 2) ?? [])]).toEqual([9, 9]);
    cache.add(entry(20, [20]));
    expect(read(cache, 9, 0, 1)).toBeUndefined();
    expect(cache.sizeBytes).toBe(1);
  });

  it('leaves out what is larger than a slab, and everything when it is turned off', () => {
    const cache = new TailCache(16);
    cache.add(entry(1, [1]));
    cache.add(entry(2, [1, 2, 3]));
    cache.add(entry(3, [3]));
    expect([...(read(cache, 1, 0, 1) ?? [])]).toEqual([1]);
    expect(read(cache, 2, 0, 1)).toBeUndefined();
    expect([...(read(cache, 3, 0, 1) ?? [])]).toEqual([3]);
    const off = new TailCache(0);
    off.add(entry(1, [1]));
    expect(read(off, 1, 0, 1)).toBeUndefined();
    expect(off.sizeBytes).toBe(0);
  });

  it('gives back what was stored, whatever the sizes, and keeps its bound', () => {
    const cache = new TailCache(8000);
    const prng = new Prng(11);
    const sizes: number[] = [];
    for (let index = 0; index < 3000; index += 1) {
      const size = 1 + prng.nextBelow(prng.nextBelow(30) === 0 ? 1500 : 300);
      sizes.push(size);
      cache.add(entry(index, new Array<number>(size).fill(index % 251)));
      const probe = Math.max(0, index - prng.nextBelow(60));
      const found = read(cache, probe, 0, sizes[probe] ?? 0);
      if (found !== undefined) expect([...new Set(found)]).toEqual([probe % 251]);
      if (size <= 1000) expect(read(cache, index, 0, size)).toBeDefined();
      expect(cache.sizeBytes).toBeLessThanOrEqual(8000);
    }
  });
});

describe('tail index', () => {
  it('finds the append of every recent offset and forgets the oldest', () => {
    const index = new TailIndex(512 * 1024);
    const prng = new Prng(5);
    const last = new Map<number, number>();
    const rows: { partition: number; base: number; count: number }[] = [];
    for (let i = 0; i < 12_000; i += 1) {
      const partition = prng.nextBelow(50) + (prng.nextBelow(2) === 0 ? 0 : 2 ** 40);
      const base = last.get(partition) ?? 0;
      const count = prng.nextBelow(20) === 0 ? 300 : 1 + prng.nextBelow(5);
      last.set(partition, base + count);
      const value = new Uint8Array(40);
      new DataView(value.buffer).setFloat64(0, i);
      rows.push({ partition, base, count });
      index.add({ partitionId: partition, baseOffset: base, count }, value);
    }
    let oldestFound = rows.length;
    const wrong = rows.filter(({ partition, base, count }, i) =>
      [base, base + count - 1, base + Math.floor(count / 2)].some((offset) => {
        const found = index.find(partition, offset);
        if (found === undefined) return i > rows.length - 1500;
        oldestFound = Math.min(oldestFound, i);
        return found.baseOffset !== base || new DataView(found.value.buffer).getFloat64(0) !== i;
      }),
    );
    expect(wrong).toEqual([]);
    expect(oldestFound).toBeGreaterThan(1000);
    const [partition, end] = [...last][0]!;
    expect(index.find(partition, end)).toBeUndefined();
    expect(index.find(12345, 0)).toBeUndefined();
  });
});
