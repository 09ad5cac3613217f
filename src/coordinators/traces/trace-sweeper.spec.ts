/** The trace sweeper over a real machine: age, the bound of a message, the bound of all; how much at once. */
import { QueenError } from '../../common/errors.js';
import { murmur3x128Into } from '../../common/murmur3-128.js';
import { encodeUtf8 } from '../../common/utf8.js';
import { checkCommand, encodeAppendTrace } from '../../machine/commands/index.js';
import type { SweepTracesOutcome } from '../../machine/commands/traces.js';
import { KEYSPACE } from '../../machine/tables/keyspaces.js';
import { decodeTraceRow } from '../../machine/tables/trace-row.js';
import type { GroupView } from '../../raft/index.js';
import { MachineHarness, SECOND, TENANT } from '../../../test/support/machine-harness.js';
import { TraceSweeper } from './trace-sweeper.js';
import type { TraceSweepHost } from './trace-sweeper.js';

class Host implements TraceSweepHost {
  readonly harness = new MachineHarness();
  readonly removed: number[] = [];
  readonly lines: string[] = [];
  failing = false;
  /** Fails after the command was applied. */
  losing = false;

  nowMicros(): ReturnType<TraceSweepHost['nowMicros']> {
    return this.harness.now;
  }

  propose({ bytes }: { readonly bytes: Uint8Array }): Promise<never> {
    checkCommand(bytes);
    if (this.failing) return Promise.reject(new QueenError('retry'));
    const outcome = this.harness.run<SweepTracesOutcome>(bytes);
    this.removed.push(outcome.removed);
    if (this.losing) return Promise.reject(new QueenError('outcome_unknown'));
    return Promise.resolve(outcome as never);
  }

  view(): Promise<GroupView> {
    const rows = new Map(
      [...this.harness.rows.all()].map(([key, value]) => [Buffer.from(key).toString('hex'), value]),
    );
    return Promise.resolve({
      appliedIndex: this.harness.machine.appliedIndex,
      get: (key) => Promise.resolve(rows.get(Buffer.from(key).toString('hex'))),
      async *iterate({ gte, lt, limit = Infinity }) {
        let left = limit;
        for (const [text, value] of rows) {
          const key = Uint8Array.from(Buffer.from(text, 'hex'));
          if (Buffer.compare(key, gte) < 0 || Buffer.compare(key, lt) >= 0) continue;
          if (left-- <= 0) return;
          yield [key, value];
        }
      },
      close: () => Promise.resolve(),
    });
  }

  /** Appends a trace of the message, a second after the one before. */
  trace(transactionId: string, data: string): void {
    const { harness } = this;
    harness.advance(1);
    const text = encodeUtf8(transactionId);
    const hash = new Uint8Array(16);
    murmur3x128Into(text, 0, text.length, hash, 0);
    const event = {
      traceId: harness.mint(),
      partitionId: harness.tables.partitions.id(harness.partition()),
      ...{ transactionId, hash, messageId: null, consumerGroup: null, eventType: 'event' },
      ...{ data, worker: null, names: ['n'] },
    };
    harness.run(encodeAppendTrace(TENANT, { rowId: harness.mint(), event }));
  }

  /** Data of the traces that are left, oldest first. */
  kept(): string[] {
    return [...this.harness.rows.all()]
      .filter(([key]) => key[0] === KEYSPACE.traces)
      .map(([, value]) => decodeTraceRow(value).data);
  }
}

const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => String(from + i));

describe('the trace sweeper', () => {
  let host: Host;
  let sweeper: TraceSweeper;

  beforeEach(() => {
    jest.useFakeTimers();
    host = new Host();
    host.harness.push(['a', 'b']);
  });

  afterEach(() => {
    sweeper.stop();
    jest.useRealTimers();
  });

  const start = (
    bounds: { maxPerMessage?: number; maxTotal?: number },
    keptSeconds = 1e6,
  ): void => {
    sweeper = new TraceSweeper(host, {
      ...{ sweepMs: 1000, retentionMs: keptSeconds * 1000 },
      ...{ maxPerMessage: Infinity, maxTotal: Infinity, ...bounds },
      log: (event) => void host.lines.push(event),
    });
    sweeper.start();
  };
  const round = (): Promise<void> => jest.advanceTimersByTimeAsync(1000);

  it('removes what was kept long enough, and nothing younger', async () => {
    for (const data of numbers(0, 5)) host.trace('a', data);
    start({}, 2);
    host.harness.now += SECOND / 2;
    await round();
    expect(host.kept()).toEqual(['3', '4']);
  });

  it('keeps of a message its newest, of others all', async () => {
    for (const data of numbers(0, 5)) host.trace('a', data);
    host.trace('b', 'other');
    start({ maxPerMessage: 2 });
    await round();
    expect(host.kept()).toEqual(['3', '4', 'other']);
    for (const data of numbers(5, 8)) host.trace('a', data);
    host.trace('b', 'again');
    await round();
    expect(host.kept()).toEqual(['other', '6', '7', 'again']);
  });

  it('keeps the newest of all, at most 64 removed by a command', async () => {
    for (const data of numbers(0, 150)) host.trace(`m${data}`, data);
    start({ maxTotal: 10 });
    await round();
    expect(host.removed).toEqual([64, 64, 12]);
    expect(host.kept()).toEqual(numbers(140, 150));
    host.trace('a', '150');
    await round();
    expect(host.kept()).toEqual(numbers(141, 151));
    await round();
    expect(host.removed).toEqual([64, 64, 12, 1]);
  });

  it('counts anew when it leads again, and those of one instant once', async () => {
    for (const data of numbers(0, 4)) host.trace('a', data);
    start({ maxTotal: 4 });
    await round();
    await round();
    expect(host.removed).toEqual([]);
    sweeper.stop();
    host.trace('a', '4');
    sweeper.start();
    await round();
    expect(host.kept()).toEqual(numbers(1, 5));
  });

  it('goes on after a failure, and says so', async () => {
    for (const data of numbers(0, 3)) host.trace('a', data);
    start({ maxTotal: 1 });
    host.failing = true;
    await round();
    expect([host.lines.length, host.kept().length]).toEqual([1, 3]);
    host.failing = false;
    await round();
    expect(host.kept()).toEqual(['2']);
  });

  it('looks again at a message whose traces it could not remove', async () => {
    for (const data of numbers(0, 5)) host.trace('a', data);
    host.trace('b', 'other');
    start({ maxPerMessage: 2 });
    host.failing = true;
    await round();
    host.failing = false;
    await round();
    expect(host.kept()).toEqual(['3', '4', 'other']);
  });

  it('removes no more than it should when it does not hear what became of a removal', async () => {
    for (const data of numbers(0, 6)) host.trace(`m${data}`, data);
    start({ maxTotal: 4 });
    host.losing = true;
    await round();
    host.losing = false;
    await round();
    expect([host.lines.length, host.kept()]).toEqual([1, numbers(2, 6)]);
  });

  it('stops with the leadership', async () => {
    for (const data of numbers(0, 3)) host.trace('a', data);
    start({ maxTotal: 1 });
    sweeper.stop();
    await round();
    expect(host.kept()).toHaveLength(3);
  });
});
