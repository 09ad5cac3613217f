/** The sweeper over a real machine with a clock of its own: when it fires, what, how often, what it proposes. */
import { crc32 } from 'node:zlib';
import { QueenError } from '../../common/errors.js';
import { micros } from '../../common/ids.js';
import type { Outcome } from '../../machine/commands/catalogue.js';
import { COMMAND_HEADER, CommandKind } from '../../machine/commands/catalogue.js';
import { checkCommand, encodeTimers } from '../../machine/commands/index.js';
import type { MachineEvents } from '../../machine/machine.js';
import type { GroupView, RecordPlace } from '../../raft/index.js';
import { DEFAULTS, MachineHarness, TENANT } from '../../../test/support/machine-harness.js';
import { RULES, TimerScene } from '../../../test/support/timer-scene.js';
import type { SweeperHost, TimerSweeperOptions } from './timer-sweeper.js';
import { TimerSweeper } from './timer-sweeper.js';
import { SweepFigures } from '../sweep-figures.js';

const BASE = 1_700_000_000_000_000;

/** A group of one machine whose clock is jest's. */
class Host implements SweeperHost {
  readonly harness = new MachineHarness();
  readonly scene = new TimerScene(this.harness);
  readonly proposed: number[] = [];
  readonly tables = this.harness.tables;
  private readonly listeners = new Set<Partial<MachineEvents>>();
  views = 0;
  failing = false;
  full = false;
  readonly bytes = new Map<number, Uint8Array>();

  nowMicros(): ReturnType<SweeperHost['nowMicros']> {
    return micros(BASE + Date.now() * 1000);
  }

  listen(events: Partial<MachineEvents>): () => void {
    this.listeners.add(events);
    return () => this.listeners.delete(events);
  }

  apply(command: Uint8Array): Outcome {
    this.harness.now = this.nowMicros();
    const { outcomes, events } = this.harness.entry(command);
    this.bytes.set(this.harness.machine.appliedIndex, command);
    for (const [name, due] of events) {
      if (name !== 'timerDue') continue;
      for (const listener of [...this.listeners]) listener.timerDue?.(due as number);
    }
    return outcomes[0]!.outcome;
  }

  schedule(...ops: Parameters<TimerScene['run']>): void {
    this.apply(encodeTimers(TENANT, ops));
  }

  async propose({ bytes }: { readonly bytes: Uint8Array }): Promise<Outcome> {
    checkCommand(bytes);
    this.proposed.push(bytes[COMMAND_HEADER.kind]!);
    // As in a group, the outcome comes a moment later.
    await Promise.resolve();
    if (this.failing) throw new QueenError('retry');
    return this.apply(bytes);
  }

  view(): Promise<GroupView> {
    this.views += 1;
    const rows = [...this.harness.rows.all()];
    const view: GroupView = {
      appliedIndex: this.harness.machine.appliedIndex,
      get: (key) => Promise.resolve(this.harness.rows.get(key)),

      async *iterate({ gte, lt, limit = Infinity }) {
        let left = limit;
        for (const row of rows) {
          if (Buffer.compare(row[0], gte) < 0 || Buffer.compare(row[0], lt) >= 0) continue;
          if (left-- <= 0) return;
          yield row;
        }
      },
      close: () => Promise.resolve(),
    };
    return Promise.resolve(view);
  }

  readRecord({ entryIndex, start, length }: RecordPlace): Promise<Uint8Array> {
    const ENTRY_HEADER = 14;
    const command = this.bytes.get(entryIndex)!;
    return Promise.resolve(command.slice(start - ENTRY_HEADER, start - ENTRY_HEADER + length));
  }

  status(): ReturnType<SweeperHost['status']> {
    return { storageFull: this.full } as ReturnType<SweeperHost['status']>;
  }
}

interface Running {
  readonly host: Host;
  readonly sweeper: TimerSweeper;
  readonly figures: SweepFigures;
}

const running: TimerSweeper[] = [];

function start(changes: Partial<TimerSweeperOptions> = {}): Running {
  const host = new Host();
  const figures = new SweepFigures();
  const sweeper = new TimerSweeper(host, {
    ...{ tickMs: 50, batch: 4, maxBytes: 1_000_000, entryMaxBytes: 10_000_000 },
    limits: { defaults: DEFAULTS, windowMinSeconds: 900 },
    failure: RULES,
    crc: (bytes, from, to) => crc32(bytes.subarray(from, to)),
    mintId: () => host.harness.mint(),
    monotonicMs: () => Date.now(),
    isOn: () => true,
    figures,
    log: () => undefined,
    ...changes,
  });
  sweeper.start();
  running.push(sweeper);
  return { host, sweeper, figures };
}

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

describe('the timer sweeper', () => {
  beforeEach(() => {
    jest.useFakeTimers({ now: 0 });
  });
  afterEach(() => {
    for (const sweeper of running.splice(0)) sweeper.stop();
    jest.useRealTimers();
  });

  it('fires within a tick of the due time, never before it', async () => {
    const { host } = start();
    host.schedule(host.scene.schedule('k', 1));
    await pass(999);
    expect(host.scene.appended()).toBe(0);
    await pass(11);
    expect(host.scene.appended()).toBe(1);
  });

  it('sleeps while nothing is due: no view, no proposal', async () => {
    const { host } = start();
    await pass(50);
    host.schedule(host.scene.schedule('k', 90 * 24 * 3600));
    const { views } = host;
    await pass(24 * 3600 * 1000);
    expect([host.views, host.proposed]).toEqual([views, []]);
  });

  it('fires after 90 days, far beyond what one setTimeout takes', async () => {
    const { host } = start();
    host.schedule(host.scene.schedule('k', 90 * 24 * 3600));
    await pass(90 * 24 * 3600 * 1000 - 1);
    expect(host.scene.appended()).toBe(0);
    await pass(100);
    expect(host.scene.appended()).toBe(1);
  }, 180_000);

  it('finds what was due before it led', async () => {
    const { host, sweeper } = start();
    sweeper.stop();
    host.schedule(host.scene.schedule('k', 1));
    await pass(5_000);
    expect(host.scene.appended()).toBe(0);
    sweeper.start();
    await pass(10);
    expect(host.scene.appended()).toBe(1);
  });

  it('works a backlog off in bounded steps, oldest first', async () => {
    const { host, sweeper, figures } = start();
    sweeper.stop();
    const keys = Array.from({ length: 10 }, (_, i) => `k${i}`);
    host.schedule(...keys.map((key, i) => host.scene.schedule(key, 1 + i / 10, { txn: key })));
    await pass(60_000);
    sweeper.start();
    await pass(20);
    expect(host.proposed).toHaveLength(3);
    expect([host.scene.appended(), host.scene.timers()]).toEqual([10, 0]);
    expect(figures).toMatchObject({ appended: 10, failures: { permanent: 0, transient: 0 } });
    expect([figures.rows.timers, figures.fireLag.count]).toEqual([10, 10]);
  });

  it('bounds a step in bytes; one timer always goes', async () => {
    const { host, sweeper } = start({ maxBytes: 10 });
    sweeper.stop();
    host.schedule(host.scene.schedule('a', 1), host.scene.schedule('b', 1, { txn: 'b' }));
    await pass(2_000);
    sweeper.start();
    await pass(20);
    expect([host.proposed.length, host.scene.appended()]).toEqual([2, 2]);
  });

  it('brings payloads that are not in the row from the log', async () => {
    const { host } = start();
    host.schedule(host.scene.schedule('k', 1, { payload: 'x'.repeat(50_000) }));
    await pass(1_100);
    expect([host.scene.appended(), host.scene.timers()]).toEqual([1, 0]);
  });

  it('fails what fits no entry, for good at last', async () => {
    const { host, figures } = start({ entryMaxBytes: 70_000 });
    host.schedule(host.scene.schedule('k', 1, { payload: 'x'.repeat(50_000) }));
    await pass(1_010);
    expect(host.scene.row('k')).toMatchObject({
      attempts: 1,
      lastError: expect.stringMatching(/^too_large: /),
    });
    await pass(20_000);
    expect([host.scene.appended(), host.scene.timers()]).toEqual([0, 0]);
    expect(figures).toMatchObject({ failures: { permanent: 4 }, deadLettered: 1, appended: 0 });
  });

  it('puts two of one transactionId in groups of their own', async () => {
    const { host } = start();
    host.harness.push(['first'], { defaults: { ...DEFAULTS, dedupWindowSeconds: 0 } });
    host.schedule(
      host.scene.schedule('a', 1, { txn: 'x' }),
      host.scene.schedule('b', 1, { txn: 'x' }),
    );
    await pass(1_100);
    // Without a dedup window both are messages; as repeats inside one push one would be lost.
    expect([host.scene.appended(), host.proposed.length]).toEqual([3, 1]);
  });

  it('does not spin when proposals fail, and goes on when they work again', async () => {
    const { host } = start();
    host.failing = true;
    host.schedule(host.scene.schedule('k', 1));
    await pass(5_000);
    expect(host.proposed.length).toBeLessThan(7);
    host.failing = false;
    await pass(1_100);
    expect(host.scene.appended()).toBe(1);
  });

  it('keeps its timers while the disk is full', async () => {
    const { host } = start();
    host.full = true;
    host.schedule(host.scene.schedule('k', 1));
    await pass(5_000);
    expect(host.proposed).toEqual([]);
    host.full = false;
    await pass(1_100);
    expect(host.scene.appended()).toBe(1);
  });

  it('fires nothing while it is switched off, then everything', async () => {
    let on = false;
    const { host } = start({ isOn: () => on });
    host.schedule(host.scene.schedule('a', 1), host.scene.schedule('b', 2, { txn: 'b' }));
    await pass(10_000);
    expect([host.proposed, host.scene.timers()]).toEqual([[], 2]);
    on = true;
    await pass(120);
    expect([host.scene.appended(), host.scene.timers()]).toEqual([2, 0]);
  });

  it('never fires with tick 0', async () => {
    const { host } = start({ tickMs: 0 });
    host.schedule(host.scene.schedule('k', 1));
    await pass(60_000);
    expect(host.proposed).toEqual([]);
  });

  it('fires a timer that a cancel passed on its way just not at all', async () => {
    const { host } = start();
    host.schedule(host.scene.schedule('a', 1), host.scene.schedule('b', 1.2, { txn: 'b' }));
    await pass(500);
    host.schedule(host.scene.cancel('a'));
    await pass(2_000);
    expect([host.scene.appended(), host.scene.timers()]).toEqual([1, 0]);
    expect(host.proposed).toEqual([CommandKind.FireTimers]);
  });
});
