/** The expiry sweeper over a real machine: what it proposes, when, and how much at once. */
import { QueenError } from '../../common/errors.js';
import { checkCommand } from '../../machine/commands/index.js';
import type { KvSweepOutcome } from '../../machine/commands/kv.js';
import type { GroupView } from '../../raft/index.js';
import { MachineHarness, SECOND, TENANT } from '../../../test/support/machine-harness.js';
import { kv, put } from '../../../test/support/kv-commands.js';
import { SweepFigures } from '../sweep-figures.js';
import { KvExpirySweeper } from './kv-expiry-sweeper.js';
import type { KvExpiryHost } from './kv-expiry-sweeper.js';

class Host implements KvExpiryHost {
  readonly harness = new MachineHarness();
  readonly removed: number[] = [];
  readonly lines: string[] = [];
  failing = false;

  nowMicros(): ReturnType<KvExpiryHost['nowMicros']> {
    return this.harness.now;
  }

  propose({ bytes }: { readonly bytes: Uint8Array }): Promise<never> {
    checkCommand(bytes);
    if (this.failing) return Promise.reject(new QueenError('retry'));
    const outcome = this.harness.run<KvSweepOutcome>(bytes);
    this.removed.push(outcome.removed);
    return Promise.resolve(outcome as never);
  }

  view(): Promise<GroupView> {
    const rows = [...this.harness.rows.all()];
    const view: GroupView = {
      appliedIndex: this.harness.machine.appliedIndex,
      get: () => Promise.resolve(undefined),

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

  rows(): number {
    const { tables } = this.harness;
    return tables.kv.totals(tables.names.tenant(TENANT)).rows;
  }
}

describe('the expiry sweeper', () => {
  let host: Host;
  let sweeper: KvExpirySweeper;

  beforeEach(() => {
    jest.useFakeTimers();
    host = new Host();
    const log = (event: string): void => void host.lines.push(event);
    const figures = new SweepFigures();
    const monotonicMs = (): number => Date.now();
    sweeper = new KvExpirySweeper(host, { sweepMs: 1000, limit: 2, log, figures, monotonicMs });
    sweeper.start();
  });

  afterEach(() => {
    sweeper.stop();
    jest.useRealTimers();
  });

  const second = (): Promise<void> => jest.advanceTimersByTimeAsync(1000);

  it('removes what is due, the oldest first, at most the limit at once', async () => {
    for (const [key, ttl] of [
      ['late', 3],
      ['first', 1],
      ['second', 2],
      ['kept', 100],
    ] as const) {
      kv(host.harness, put('1', { key, ttlMicros: ttl * SECOND }));
    }
    await second();
    expect(host.removed).toEqual([]);
    host.harness.advance(10);
    await second();
    expect([host.removed, host.rows()]).toEqual([[2], 2]);
    await second();
    await second();
    expect([host.removed, host.rows()]).toEqual([[2, 1], 1]);
  });

  it('goes on after a failure, and says so', async () => {
    kv(host.harness, put('1', { ttlMicros: SECOND }));
    host.harness.advance(2);
    host.failing = true;
    await second();
    expect([host.lines.length, host.rows()]).toEqual([1, 1]);
    host.failing = false;
    await second();
    expect(host.rows()).toBe(0);
  });

  it('stops with the leadership', async () => {
    kv(host.harness, put('1', { ttlMicros: SECOND }));
    host.harness.advance(2);
    sweeper.stop();
    await second();
    expect(host.rows()).toBe(1);
  });
});
