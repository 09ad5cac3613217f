/**
 * What one append costs the dispatcher with many partitions and parked pops, against a small one in
 * the same process: each append wakes a pop, its claim is applied, and another pop parks. Also the
 * longest hold of the loop, the first scan of the large queue included. Prints one JSON line.
 * PARTITIONS (default 1,000,000), PARKED (5,000), APPENDS per round (20,000), ROUNDS (7);
 * SPREAD=1 scatters the appends over all partitions, so that cache misses of the columns count too.
 */
import { consumerGroupId, micros } from '../../src/common/ids.js';
import { Dispatcher } from '../../src/coordinators/dispatcher/dispatcher.js';
import type { ClaimCommand, Outcome } from '../../src/machine/commands/index.js';
import { CommandKind, StartMode } from '../../src/machine/commands/index.js';
import type { MachineEvents } from '../../src/machine/machine.js';
import { createTables } from '../../src/machine/tables/create-tables.js';
import { CONFIGURE_DEFAULTS } from '../../src/queues/option-values.js';
import type { PopRequest } from '../../src/raft/group/group.js';
import { Holds, threadCpuMs } from './holds.js';

const env = (name: string, fallback: number): number => Number(process.env[name] ?? fallback);
const partitions = env('PARTITIONS', 1_000_000);
const parked = env('PARKED', 5_000);
const appends = env('APPENDS', 20_000);
const rounds = env('ROUNDS', 7);
/** Partitions written to, in both; side by side, so that it is not the processor's cache that counts. */
const HOT = 500;
const spread = process.env['SPREAD'] === '1';
const PER_TURN = 20;
const TENANT = new Uint8Array(16).fill(1);
const NO_OUTCOME = new Uint8Array(0);

class World {
  readonly tables = createTables();
  readonly dispatcher: Dispatcher;
  readonly hot: number[] = [];
  granted = 0;
  private now = 1_700_000_000_000_000;
  private events: Partial<MachineEvents> = {};
  private command: ClaimCommand | null = null;
  private sequence = 0;
  private readonly request: PopRequest;

  constructor(count: number) {
    const { tables } = this;
    const tenant = tables.names.ensureTenant(TENANT);
    const group = tables.names.ensureGroup(tenant, 'g');
    const queue = tables.queues.create(tenant, 'q', micros(this.now), CONFIGURE_DEFAULTS);
    for (let n = 0; n < count; n += 1) {
      const slot = tables.partitions.create(queue, `p${n}`, micros(this.now));
      this.grow(slot);
      if (spread ? n % Math.floor(count / HOT) !== 0 : n >= HOT) continue;
      this.hot.push(slot);
      tables.cursors.create(slot, group, 0, micros(this.now));
    }
    tables.registrations.create({
      ...{ queueId: queue.id, groupId: consumerGroupId(group), mode: StartMode.New },
      ...{ instant: micros(this.now + 1), conflation: false, registeredAt: micros(this.now) },
      ...{ namespace: '', task: '' },
    });
    this.request = {
      ...{ tenant: TENANT, scope: 'queue', queue: 'q', partition: '', namespace: '', task: '' },
      ...{ group: 'g', maxMessages: 100, maxPartitions: 1, leaseSeconds: 60 },
      ...{ commitOnDelivery: true, wait: true, intent: { mode: 'all', instantMicros: 0 } },
      ...{ conflation: null, autopilot: null },
    };
    this.dispatcher = this.start();
  }

  park(): void {
    this.sequence += 1;
    const options = { deadlineMs: performance.now() + 3_600_000 };
    const ticket = { session: 1, sequence: this.sequence };
    void this.dispatcher.pop(this.request, ticket, options).then(({ granted }) => {
      if (!granted) return;
      this.granted += 1;
      this.park();
    });
  }

  append(n: number): void {
    this.now += 1;
    const slot = this.hot[n % this.hot.length] ?? 0;
    this.grow(slot);
    this.events.appended?.(slot);
  }

  private grow(slot: number): void {
    const run = { count: 1, bytes: 100, maxRecord: 100, createdAt: micros(this.now) };
    this.tables.partitions.append(slot, run);
  }

  private start(): Dispatcher {
    const leaseId = new Uint8Array(16);
    const dispatcher = new Dispatcher(
      {
        tables: this.tables,
        listen: (events) => {
          this.events = events;
          return () => undefined;
        },
        propose: () => Promise.resolve().then(() => this.applyClaim()),
        view: () => Promise.reject(new Error('no rows here')),
        nowMicros: () => this.now,
        term: () => 1,
      },
      {
        ...{ skewMicros: 500_000, replyMarginMs: 50, maxPopBytes: 16 << 20, tickMs: 10 },
        autopilot: { drainMs: 200, batchMin: 100, batchMax: 1000 },
        onConflict: () => undefined,
        idleLaneMs: 600_000,
        monotonicMs: () => performance.now(),
        mintLeaseId: () => leaseId,
        encodeClaim: (command) => {
          this.command = command;
          return NO_OUTCOME;
        },
      },
    );
    dispatcher.start();
    return dispatcher;
  }

  private applyClaim(): Outcome {
    const { cursors, partitions: table } = this.tables;
    const changed: number[] = [];
    const grants = (this.command?.grants ?? []).map((grant) => ({
      ...{ ticket: grant.ticket, leaseId: grant.leaseId, expiresAt: micros(0) },
      commitOnDelivery: true,
      ranges: grant.ranges.map((range) => {
        const cursor = cursors.find(table.byId(range.partitionId), range.groupId);
        cursors.setCommitted(cursor, range.lastOffset);
        cursors.bump(cursor);
        changed.push(cursor);
        return { ...range, deliveryAttempt: 1 };
      }),
    }));
    for (const cursor of changed) this.events.cursorChanged?.(cursor);
    return { kind: CommandKind.Claim, grants };
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Processor µs per append. */
async function round(world: World): Promise<number> {
  const before = world.granted;
  const from = threadCpuMs();
  for (let n = 0; n < appends; n += PER_TURN) {
    for (let i = 0; i < PER_TURN; i += 1) world.append(n + i);
    await turn();
  }
  const used = threadCpuMs() - from;
  await turn();
  if (world.granted - before !== appends) {
    throw new Error(`${world.granted - before} grants for ${appends} appends`);
  }
  return (used * 1000) / appends;
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

async function main(): Promise<void> {
  const small = new World(1_000);
  const large = new World(partitions);
  for (let n = 0; n < 50; n += 1) small.park();
  global.gc?.();
  const holds = new Holds();
  await turn();
  holds.take();
  const from = threadCpuMs();
  for (let n = 0; n < parked; n += 1) {
    large.park();
    if (n % 100 === 99) await turn();
  }
  // The scan of the large queue: 2,000 partitions a turn.
  for (let n = 0; n < partitions / 2_000 + 10; n += 1) await turn();
  const scanMs = threadCpuMs() - from;
  const scanHold = holds.take();
  await round(small);
  await round(large);
  holds.take();
  const smalls: number[] = [];
  const larges: number[] = [];
  for (let n = 0; n < rounds; n += 1) {
    smalls.push(await round(small));
    larges.push(await round(large));
  }
  const serveHold = holds.take();
  holds.stop();
  const [smallMicros, largeMicros] = [median(smalls), median(larges)];
  const growth = largeMicros / smallMicros - 1;
  console.log(
    JSON.stringify({
      partitions,
      parked,
      smallMicros,
      largeMicros,
      growth,
      scanMs,
      scanHold,
      serveHold,
    }),
  );
  small.dispatcher.stop();
  large.dispatcher.stop();
  process.exit(0);
}

await main();
