/**
 * What apply itself costs per message, over ports that store nothing. Every test run takes a small
 * turn; QUEEN_BENCH=1 takes the full one and prints. Jest's module wrapping costs ten times what the
 * code does, so numbers worth quoting come from the compiled file under plain node.
 */
import { MachineHarness, SECOND, TENANT } from '../../test/support/machine-harness.js';
import { logIndex, term } from '../common/ids.js';
import { encodeAck, encodeClaim, encodeEntryHeader } from './commands/index.js';
import type { IdIndexPort, MachineEvents, OutcomeSink, RowPort } from './machine.js';

const FULL = process.env['QUEEN_BENCH'] === '1';
const PARTITIONS = FULL ? 1000 : 10;
const ROUNDS = FULL ? 5 : 1;
const COMMANDS_PER_ENTRY = 50;

const NO_ROWS: RowPort = { get: () => undefined, put: () => undefined, delete: () => undefined };
const NO_IDS: IdIndexPort = { candidates: () => undefined, add: () => undefined };
const NO_OUTCOMES: OutcomeSink = { outcome: () => undefined };
const NO_EVENTS: MachineEvents = {
  ...{ queueCreated: () => undefined, queueConfigured: () => undefined },
  ...{ queueDeleted: () => undefined, registered: () => undefined, appended: () => undefined },
  ...{ cursorChanged: () => undefined, granted: () => undefined, timerDue: () => undefined },
  ...{ trimmed: () => undefined, partitionDropped: () => undefined },
  ...{ switched: () => undefined, quotaSet: () => undefined, tenantPurged: () => undefined },
};

class BenchHarness extends MachineHarness {
  constructor() {
    super(NO_ROWS as never, NO_IDS as never);
  }

  /** Applies the commands in entries of 50 and returns the CPU time it took, µs (the machine may be busy). */
  timed(commands: readonly Uint8Array[]): number {
    const { machine } = this;
    let spent = 0;
    for (let at = 0; at < commands.length; at += COMMANDS_PER_ENTRY) {
      const batch = commands.slice(at, at + COMMANDS_PER_ENTRY);
      this.now += 1000;
      const parts = [encodeEntryHeader(this.now, batch.length), ...batch];
      const index = logIndex(machine.appliedIndex + 1);
      const before = process.cpuUsage();
      machine.execute({ index, term: term(3), parts }, NO_OUTCOMES, NO_EVENTS);
      const { user, system } = process.cpuUsage(before);
      spent += user + system;
    }
    machine.flushDirtyRows();
    return spent;
  }

  pushes(count: number, messages: number, round: number): Uint8Array[] {
    return Array.from({ length: count }, (_, i) =>
      this.pushBytes(
        Array.from({ length: messages }, (__, k) => `order-${round}-${i}-${k}`),
        { partition: `lane-${i % PARTITIONS}` },
      ),
    );
  }
}

function report(what: string, spent: number, count: number): void {
  if (!FULL) return;
  const micros = (spent / count).toFixed(2);
  process.stdout.write(`${what.padEnd(44)} ${micros.padStart(8)} µs\n`);
}

describe('cost of apply', () => {
  it('is printed when asked for', () => {
    const harness = new BenchHarness();
    const ones = 10 * PARTITIONS;
    const hundreds = 2 * PARTITIONS;
    for (let round = 0; round < ROUNDS; round++) {
      report('push of 1, per message', harness.timed(harness.pushes(ones, 1, round)), ones);
      const spent = harness.timed(harness.pushes(hundreds, 100, round));
      report('push of 100, per message', spent, hundreds * 100);
      claimAndAck(harness, 1);
      claimAndAck(harness, 100);
    }
    const appended = ROUNDS * (ones + hundreds * 100);
    expect(harness.tables.totals.messagesAppended).toBe(appended);
    expect(harness.tables.leases.count).toBe(0);
  }, 300_000);
});

/** One pop and one ack per partition, `count` messages each. */
function claimAndAck(harness: BenchHarness, count: number): void {
  harness.register('g');
  const leases = Array.from({ length: PARTITIONS }, () => harness.mint());
  const ranges = leases.map((_, i) => harness.range({ partition: `lane-${i}`, count }));
  const claims = leases.map((leaseId, i) =>
    encodeClaim({
      skewMicros: 0,
      grants: [
        {
          ticket: { session: 9, sequence: i },
          leaseId,
          leaseMicros: 60 * SECOND,
          commitOnDelivery: false,
          ranges: [ranges[i]!],
        },
      ],
    }),
  );
  const acks = leases.map((leaseId, i) =>
    encodeAck(TENANT, {
      group: 'g',
      skewMicros: 0,
      targets: [
        {
          partitionId: ranges[i]!.partitionId,
          leaseId,
          completed: [ranges[i]!.firstOffset, ranges[i]!.lastOffset],
          signals: [],
          fallbackError: null,
        },
      ],
    }),
  );
  report(`claim of ${count}, per claim`, harness.timed(claims), PARTITIONS);
  report(`ack of ${count}, per ack`, harness.timed(acks), PARTITIONS);
}
