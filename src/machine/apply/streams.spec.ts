/** Streams at apply (state.md §4): registration verdicts, cycles all or none, positional acks, resets. */
import { DEFAULTS, MachineHarness, TENANT } from '../../../test/support/machine-harness.js';
import type { PushOptions } from '../../../test/support/machine-harness.js';
import { encodeUtf8, readUtf8 } from '../../common/utf8.js';
import { encodePurgeTenant, encodeSetQuota, QuotaKind } from '../commands/index.js';
import {
  checkCommand,
  encodeRegisterStream,
  encodeStreamCycle,
  PushCommandBuilder,
} from '../commands/index.js';
import type {
  CycleAck,
  RegisterStreamOutcome,
  StateOp,
  StreamCycleOutcome,
} from '../commands/index.js';
import { QUOTA_LIMITS } from '../commands/controls.js';
import type { QuotaLimits } from '../commands/controls.js';
import { KEYSPACE } from '../tables/keyspaces.js';
import { decodeStateRow, keyStateKey } from '../tables/stream-rows.js';

const OTHER = new Uint8Array(16).fill(2);
const LEASE = new Uint8Array(16).fill(7);
const NO_LIMITS = Object.fromEntries(QUOTA_LIMITS.map((name) => [name, null])) as QuotaLimits;

interface CycleSpec {
  readonly ack?: Partial<CycleAck> | null;
  readonly state?: readonly StateOp[];
  readonly sink?: Uint8Array;
  readonly queryId?: Uint8Array;
  readonly partitionId?: number;
  readonly tenant?: Uint8Array;
}

class StreamScene {
  readonly harness = new MachineHarness();

  register(name: string, changes: object = {}, tenant = TENANT): RegisterStreamOutcome {
    const command = {
      ...{ queryId: this.harness.mint(), name, sourceQueue: 'orders', sinkQueue: null },
      ...{ configHash: 'h1', reset: false, needsGrant: false, ...changes },
    };
    return this.harness.run(encodeRegisterStream(tenant, command));
  }

  /** A leased batch of five on `orders/p` and a query; a cycle on it. */
  ready(): StreamScene {
    this.harness.push(['a', 'b', 'c', 'd', 'e']);
    this.harness.register('g');
    this.harness.claim({ leaseId: LEASE, count: 3 });
    this.register('q');
    return this;
  }

  cycle(spec: CycleSpec = {}): StreamCycleOutcome {
    return this.harness.run(this.cycleBytes(spec));
  }

  cycleBytes(spec: CycleSpec = {}): Uint8Array {
    const { tables } = this.harness;
    const usual: CycleAck = {
      ...{ group: 'g', leaseId: LEASE, completed: true, release: true, count: 3 },
    };
    return encodeStreamCycle(
      spec.tenant ?? TENANT,
      {
        queryId: spec.queryId ?? this.queryId(),
        partitionId: (spec.partitionId ?? tables.partitions.id(this.harness.partition())) as never,
        ack: spec.ack === null ? null : { ...usual, ...spec.ack },
        stateOps: spec.state ?? [],
      },
      spec.sink ??
        new PushCommandBuilder({ defaults: DEFAULTS, windowMinSeconds: 900 }, () => 0).build(
          TENANT,
        ),
    );
  }

  queryId(name = 'q'): Uint8Array {
    const { names, streams } = this.harness.tables;
    return streams.byName(names.tenant(TENANT)!, name)!.queryId;
  }

  sink(ids: readonly string[], options: PushOptions = {}): Uint8Array {
    return this.harness.pushBytes(ids, { queue: 'sink', ...options });
  }

  state(): Record<string, string> {
    const rows = [...this.harness.rows.all()].filter(([key]) => key[0] === KEYSPACE.streamState);
    return Object.fromEntries(
      rows.map(([key, value]) => {
        const json = decodeStateRow(value).value;
        return [keyStateKey(key), readUtf8(json, 0, json.length)];
      }),
    );
  }

  committed(): number {
    return this.harness.tables.cursors.committed(this.harness.cursor());
  }

  leased(): boolean {
    return this.harness.tables.cursors.lease(this.harness.cursor()) >= 0;
  }
}

const upsert = (key: string, value: string): StateOp => ({ key, value: encodeUtf8(value) });

describe('registration', () => {
  it.each<[string, object, RegisterStreamOutcome['verdict']]>([
    ['a new name', { name: 'new' }, 'fresh'],
    ['a known name with its hash', {}, 'known'],
    ['the same with reset', { reset: true }, 'known'],
    ['another hash', { configHash: 'h2' }, 'mismatch'],
    ['another hash with reset', { configHash: 'h2', reset: true }, 'reset'],
    ['a new name without the grant it needs', { name: 'new', needsGrant: true }, 'denied'],
    ['a known name without a grant', { needsGrant: true }, 'known'],
  ])('%s', (_name, changes, verdict) => {
    const scene = new StreamScene();
    const { queryId } = scene.register('q');
    const outcome = scene.register('q', changes);
    expect(outcome.verdict).toBe(verdict);
    if (verdict === 'fresh') expect(outcome.queryId).not.toEqual(queryId);
    else expect(outcome.queryId).toEqual(verdict === 'denied' ? null : queryId);
  });

  it.each([
    [true, null, 'fresh'],
    [false, null, 'denied'],
    [true, 1, 'fresh'],
    [true, 0, 'full'],
  ] as const)('a grant %p with at most %p queries: %s', (enabled, maxQueries, verdict) => {
    const scene = new StreamScene();
    const limits = { ...NO_LIMITS, maxQueries };
    scene.harness.run(encodeSetQuota(OTHER, { kind: QuotaKind.Streams, enabled, limits }));
    expect(scene.register('q', { needsGrant: true }, OTHER).verdict).toBe(verdict);
    if (verdict !== 'fresh') return;
    const second = scene.register('r', { needsGrant: true }, OTHER).verdict;
    expect(second).toBe(maxQueries === 1 ? 'full' : 'fresh');
  });

  it('keeps id and state of the same configuration, and takes new queues', () => {
    const scene = new StreamScene().ready();
    scene.cycle({ state: [upsert('k', '1')] });
    const id = scene.queryId();
    scene.register('q', { sinkQueue: 'elsewhere' });
    expect([scene.queryId(), scene.state()]).toEqual([id, { k: '1' }]);
  });

  it('a reset forgets the state at once and leaves the cursor', () => {
    const scene = new StreamScene().ready();
    scene.cycle({ state: [upsert('k', '1')] });
    const committed = scene.committed();
    scene.register('q', { configHash: 'h2', reset: true });
    scene.cycle({ ack: null, state: [upsert('l', '2')] });
    const { streams } = scene.harness.tables;
    expect(streams.garbageState()).toHaveLength(1);
    // The old generation is unreachable, not yet removed.
    expect(scene.state()).toEqual({ k: '1', l: '2' });
    expect(scene.committed()).toBe(committed);
    const reloaded = scene.harness.reloaded();
    expect(reloaded.tables.streams.garbageState()).toEqual(streams.garbageState());
  });
});

describe('a cycle', () => {
  it('commits messages, state and the whole batch in one entry', () => {
    const scene = new StreamScene().ready();
    const state = [
      upsert('a', '1'),
      upsert('b', '2'),
      upsert('a', '{"n":3}'),
      { key: 'b', value: null },
    ];
    const outcome = scene.cycle({ sink: scene.sink(['x', 'y']), state });
    expect(outcome).toMatchObject({ verdict: 'applied', ack: { count: 3, leaseReleased: true } });
    expect(outcome.pushes[0]).toMatchObject({ verdict: 'applied' });
    expect([scene.committed(), scene.leased(), scene.state()]).toEqual([
      2,
      false,
      { a: '{"n":3}' },
    ]);
    expect(scene.harness.tables.partitions.lastOffset(scene.harness.partition('sink'))).toBe(1);
    expect(scene.harness.tables.cursors.totalConsumed(scene.harness.cursor())).toBe(3);
  });

  it.each<[string, Partial<CycleAck>, [committed: number, leased: boolean, count: number]]>([
    ['completed, released', {}, [2, false, 3]],
    ['completed, kept, part', { release: false, count: 2 }, [1, true, 2]],
    ['completed, kept, none', { release: false, count: 0 }, [-1, true, 0]],
    ['completed, kept, more than the batch', { release: false, count: 99 }, [2, true, 99]],
    ['failed', { completed: false }, [-1, false, 0]],
    ['failed, kept', { completed: false, release: false }, [-1, false, 0]],
  ])('ack %s', (_name, ack, [committed, leased, count]) => {
    const scene = new StreamScene().ready();
    expect(scene.cycle({ ack }).ack).toEqual({ count, leaseReleased: !leased });
    expect([scene.committed(), scene.leased()]).toEqual([committed, leased]);
  });

  it('passes over what retention cut off, then counts messages that exist', () => {
    const scene = new StreamScene().ready();
    scene.harness.tables.partitions.setLogStart(scene.harness.partition(), 1);
    scene.cycle({ ack: { release: false, count: 1 } });
    expect(scene.committed()).toBe(1);
  });

  it('delivers the tail again in order after a kept lease ran out', () => {
    const scene = new StreamScene().ready();
    scene.cycle({ ack: { release: false, count: 1 } });
    scene.harness.advance(61);
    const grant = scene.harness.claim({ count: 10 });
    expect([grant.ranges[0]!.firstOffset, grant.ranges[0]!.lastOffset]).toEqual([1, 4]);
  });

  it('needs no lease without an ack', () => {
    const scene = new StreamScene().ready();
    expect(scene.cycle({ ack: null, state: [upsert('k', '1')] })).toMatchObject({
      ...{ verdict: 'applied', ack: null },
    });
    expect([scene.committed(), scene.leased(), scene.state()]).toEqual([-1, true, { k: '1' }]);
  });

  it.each<[string, (scene: StreamScene) => CycleSpec, StreamCycleOutcome['verdict']]>([
    ['another lease', () => ({ ack: { leaseId: new Uint8Array(16).fill(8) } }), 'rejected_ack'],
    ['no lease id', () => ({ ack: { leaseId: new Uint8Array(0) } }), 'rejected_ack'],
    ['another group', () => ({ ack: { group: 'h' } }), 'rejected_ack'],
    [
      'an expired lease',
      (scene) => {
        scene.harness.advance(61);
        return {};
      },
      'rejected_ack',
    ],
    [
      'a lease settled before',
      (scene) => {
        scene.cycle();
        return {};
      },
      'rejected_ack',
    ],
    [
      'a sink message stored before',
      (scene) => {
        scene.harness.push(['x'], { queue: 'sink' });
        return { sink: scene.sink(['y', 'x']) };
      },
      'duplicate',
    ],
    ['an unknown query', () => ({ queryId: new Uint8Array(16) }), 'no_query'],
    ['an unknown partition', () => ({ partitionId: 99 }), 'no_partition'],
    [
      'the query of another tenant',
      (scene) => {
        const { queryId } = scene.register('q', {}, OTHER);
        return { queryId: queryId! };
      },
      'no_query',
    ],
    [
      'the partition of another tenant',
      (scene) => {
        scene.harness.run(scene.harness.pushBytes(['z'], { queue: 'theirs', tenant: OTHER }));
        return { partitionId: 2 };
      },
      'no_partition',
    ],
  ])('%s refuses it whole', (_name, prepare, verdict) => {
    const scene = new StreamScene().ready();
    const spec = prepare(scene);
    const before = [scene.committed(), scene.leased(), scene.state()];
    const state = [upsert('k', '9')];
    const outcome = scene.cycle({ sink: scene.sink(['new']), state, ...spec });
    expect(outcome).toMatchObject({ verdict, pushes: [], ack: null });
    expect(outcome.text).not.toBe('');
    expect([scene.committed(), scene.leased(), scene.state()]).toEqual(before);
  });
});

describe('the machine', () => {
  it('replays and restarts to the same state', () => {
    const scene = new StreamScene().ready();
    scene.cycle({ sink: scene.sink(['x']), state: [upsert('k', '1')] });
    scene.register('q', { configHash: 'h2', reset: true });
    scene.cycle({ ack: null, state: [upsert('k', '2')] });
    const other = new MachineHarness();
    for (const entry of scene.harness.log) other.replay(entry);
    expect(other.machine.digest()).toEqual(scene.harness.machine.digest());
    const restarted = scene.harness.reloaded();
    const query = restarted.tables.streams.byName(restarted.tables.names.tenant(TENANT)!, 'q');
    expect(query).toMatchObject({ configHash: 'h2', generation: 2 });
  });

  it('forgets the queries of a purged tenant', () => {
    const scene = new StreamScene().ready();
    scene.harness.run(encodePurgeTenant(TENANT));
    expect(scene.register('q').verdict).toBe('fresh');
  });

  it('checks commands before the log', () => {
    const scene = new StreamScene().ready();
    const bytes = scene.cycleBytes({ sink: scene.sink(['x']), state: [upsert('k', '1')] });
    expect(() => checkCommand(bytes)).not.toThrow();
    for (let size = 41; size < bytes.length; size += 5) {
      const cut = bytes.slice(0, size);
      new DataView(cut.buffer).setUint32(0, size - 4, true);
      expect(() => checkCommand(cut)).toThrow();
    }
  });
});
