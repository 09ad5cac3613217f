/** Rings from one engine to another, field by field: messages, positions, leases, attempts, counts. */
import {
  EngineHarness,
  EPHEMERAL_TENANT,
  NO_LIMITS,
} from '../../../test/support/ephemeral-engine.js';
import type { TargetLogger } from '../../logging/index.js';
import type { NodeId } from '../../common/ids.js';
import { Adoption } from './adoption.js';
import { HandOver, LEAVING_BODY, type HandOverPort, type Parcel } from './hand-over.js';
import { NO_BODY } from './peer-calls.js';
import { decodePieces, joinPieces } from './ring-codec.js';

const silent = { warn: () => undefined } as unknown as TargetLogger;
const OTHER = 2 as NodeId;

function handOver(from: EngineHarness, port: Partial<HandOverPort> = {}): HandOver {
  return new HandOver({
    account: from.engine.store.account,
    incarnation: from.engine.parts.incarnation,
    nowMs: () => from.nowMs,
    log: silent,
    ownerOf: () => OTHER,
    send: () => Promise.resolve(null),
    adopt: () => false,
    peerLeaves: () => undefined,
    ...port,
  });
}

function pack(from: EngineHarness, by: HandOver, queue: string, partition: string): Parcel[] {
  const ring = from.queue(queue)!.rings.get(partition)!;
  const parcels = by.pack(EPHEMERAL_TENANT, ring);
  from.queue(queue)!.removeRing(ring);
  return parcels;
}

/** Everything a ring is, relative to its first message. */
function shown(harness: EngineHarness, queue: string, partition: string): unknown {
  const ring = harness.queue(queue)!.rings.get(partition)!;
  const messages = Array.from({ length: ring.length }, (_, i) => ({
    ageMs: harness.nowMs - ring.timeOf(ring.first + i),
    payload: Buffer.from(ring.payloadOf(ring.first + i)).toString(),
  }));
  const groups = [...ring.cursors.values()].map((cursor) => ({
    group: cursor.group,
    skipped: cursor.skipped,
    pending: cursor.pending,
    available: cursor.available,
    states: messages.map((_, i) => cursor.stateOf(ring.first + i)),
    // Of a message that is done nobody asks any more.
    attempts: messages.map((_, i) =>
      cursor.stateOf(ring.first + i) === 3 ? 0 : cursor.attemptsOf(ring.first + i),
    ),
  }));
  return { messages, groups: groups.sort((a, b) => (a.group < b.group ? -1 : 1)) };
}

async function filled(): Promise<EngineHarness> {
  const from = new EngineHarness();
  from.declare('q', { policy: 'dropOldest', maxLength: 8, retryLimit: 9 });
  await from.pop('q', { partition: 'p', group: 'idle' });
  for (let n = 0; n < 10; n += 1) {
    from.nowMs += 10;
    from.push('q', 'p', [{ n }]);
  }
  const g = await from.pop('q', { partition: 'p', group: 'g', batch: 5 });
  from.ack('q', [g[0]!.id, g[3]!.id], 'completed', 'g');
  from.ack('q', [g[2]!.id], 'failed', 'g');
  await from.pop('q', { partition: 'p', group: 'h', batch: 3, commitOnDelivery: true });
  return from;
}

const LEASED_TO_BACK = (states: number[]): number[] =>
  states.map((state) => (state === 1 ? 2 : state));

it('arrives with messages, ages, what each group passed, what comes back and how often it was tried', async () => {
  const from = await filled();
  const before = shown(from, 'q', 'p') as { groups: { states: number[]; available: number }[] };
  const parcels = pack(from, handOver(from), 'q', 'p');
  const to = new EngineHarness({ incarnation: 'def' });
  to.declare('q', { maxLength: 100, retryLimit: 9 });
  to.nowMs = 50_000;
  for (const piece of decodePieces(joinPieces(parcels.map(({ bytes }) => bytes)))) {
    expect(new Adoption(to.engine).adopt(EPHEMERAL_TENANT, piece, NO_LIMITS)).toBe(true);
  }
  // A lease ends with the move; everything else is as it was.
  for (const group of before.groups) {
    group.available += group.states.filter((state) => state === 1).length;
    group.states = LEASED_TO_BACK(group.states);
  }
  expect(shown(to, 'q', 'p')).toEqual(before);
  const again = await to.pop('q', { partition: 'p', group: 'g' });
  expect(again.map(({ payload, attempts }) => [payload, attempts])).toEqual([
    [{ n: 3 }, 2],
    [{ n: 4 }, 2],
    [{ n: 6 }, 2],
    [{ n: 7 }, 1],
    [{ n: 8 }, 1],
    [{ n: 9 }, 1],
  ]);
  const idle = to.queue('q')!.rings.get('p')!.cursors.get('idle')!;
  expect([idle.skipped, idle.pending]).toEqual([2, 8]);
  await Promise.all([from.stop(), to.stop()]);
});

it('comes behind what was pushed at the new owner meanwhile; no group loses its place', async () => {
  const from = await filled();
  const parcels = pack(from, handOver(from), 'q', 'p');
  const to = new EngineHarness({ incarnation: 'def' });
  to.push('q', 'p', ['new']);
  const early = await to.pop('q', { partition: 'p', group: 'g' });
  const [piece] = decodePieces(joinPieces([parcels[0]!.bytes]));
  new Adoption(to.engine).adopt(EPHEMERAL_TENANT, piece!, NO_LIMITS);
  const later = await to.pop('q', { partition: 'p', group: 'g' });
  expect(later.map(({ payload }) => payload)).toEqual([3, 4, 6, 7, 8, 9].map((n) => ({ n })));
  expect(to.ack('q', [early[0]!.id, ...later.map(({ id }) => id)], 'completed', 'g')).toEqual(
    new Array(7).fill('acked'),
  );
  const h = await to.pop('q', { partition: 'p', group: 'h' });
  expect(h.map(({ payload }) => payload)).toEqual(['new', ...[5, 6, 7, 8, 9].map((n) => ({ n }))]);
  await Promise.all([from.stop(), to.stop()]);
});

it('large rings travel in pieces that compose; a piece sent twice is taken once', async () => {
  const from = new EngineHarness();
  const payload = 'x'.repeat(100_000);
  for (let n = 0; n < 60; n += 1) from.push('q', 'p', [`${n}:${payload}`]);
  await from.pop('q', { partition: 'p', group: 'g', batch: 35 });
  const before = shown(from, 'q', 'p') as { groups: { states: number[]; available: number }[] };
  for (const group of before.groups) {
    group.available = 60;
    group.states = LEASED_TO_BACK(group.states);
  }
  const parcels = pack(from, handOver(from), 'q', 'p');
  expect(parcels.length).toBeGreaterThan(2);
  const to = new EngineHarness({ incarnation: 'def' });
  const adoption = new Adoption(to.engine);
  for (const { bytes } of [...parcels, ...parcels]) {
    const verdicts = adoption.adoptAll('1:abc', EPHEMERAL_TENANT, joinPieces([bytes]), NO_LIMITS);
    expect([...verdicts]).toEqual([1]);
  }
  expect(shown(to, 'q', 'p')).toEqual(before);
  await Promise.all([from.stop(), to.stop()]);
});

it('what does not fit is refused and leaves no trace', async () => {
  const from = await filled();
  const parcels = pack(from, handOver(from), 'q', 'p');
  const to = new EngineHarness({ queueMaxLength: 3 });
  const verdicts = new Adoption(to.engine).adoptAll(
    '1:abc',
    EPHEMERAL_TENANT,
    joinPieces(parcels.map(({ bytes }) => bytes)),
    NO_LIMITS,
  );
  expect([...verdicts]).toEqual([0]);
  expect([to.queue('q')!.length, to.engine.store.account.payloadBytes]).toEqual([0, 0]);
  await Promise.all([from.stop(), to.stop()]);
});

describe('delivery', () => {
  const OK = { status: 200, retryAfter: 0, body: Uint8Array.of(1) };
  const status = (code: number, body = NO_BODY) => ({ status: code, retryAfter: 0, body });

  it.each([
    ['no answer', null, 'retried'],
    ['500', status(500), 'retried'],
    ['503', status(503), 'retried'],
    ['429', status(429), 'retried'],
    ['400', status(400), 'lost'],
    ['a refusal', { ...OK, body: Uint8Array.of(0) }, 'lost'],
  ])('%s: %s', async (_, first, expected) => {
    const from = await filled();
    const answers = [first, OK];
    let sent = 0;
    const by = handOver(from, {
      send: () => {
        sent += 1;
        return Promise.resolve(answers.shift() ?? null);
      },
    });
    const counts = await by.ship(pack(from, by, 'q', 'p'), 10_000).all;
    const isLost = expected === 'lost';
    expect(counts).toMatchObject({ rings: 1, delivered: isLost ? 0 : 1, lost: isLost ? 1 : 0 });
    expect([sent, by.wipes, by.inFlight]).toEqual([isLost ? 1 : 2, isLost ? 1 : 0, 0]);
    expect(from.engine.store.account.payloadBytes).toBe(0);
    await from.stop();
  });

  it('goes to the owner of the moment; a peer that leaves is told of; back here when it is ours again', async () => {
    const from = await filled();
    const owners: (NodeId | null)[] = [OTHER, 3 as NodeId, null];
    const asked: NodeId[] = [];
    const left: NodeId[] = [];
    const by: HandOver = handOver(from, {
      ownerOf: () => owners.shift() ?? null,
      send: (to) => {
        asked.push(to);
        return Promise.resolve(to === OTHER ? status(503, LEAVING_BODY) : null);
      },
      peerLeaves: (peer) => void left.push(peer),
      adopt: ({ bytes }) => {
        const [piece] = decodePieces(joinPieces([bytes]));
        return new Adoption(from.engine).adopt(EPHEMERAL_TENANT, piece!, NO_LIMITS);
      },
    });
    const counts = await by.ship(pack(from, by, 'q', 'p'), 10_000).all;
    expect([asked, left, counts.lost]).toEqual([[2, 3], [2], 0]);
    expect(from.queue('q')!.length).toBe(8);
    await from.stop();
  });

  it.each([
    ['ten seconds', 15_000, 10_000],
    ['what the deadline leaves', 4_000, 4_000],
  ])('one request may take %s', async (_, withinMs, timeoutMs) => {
    const from = await filled();
    const timeouts: number[] = [];
    const by = handOver(from, {
      send: (_to, batch) => {
        timeouts.push(batch.timeoutMs);
        from.nowMs += batch.timeoutMs;
        return Promise.resolve(null);
      },
    });
    const startMs = from.nowMs;
    const { lost } = await by.ship(pack(from, by, 'q', 'p'), withinMs).all;
    expect([lost, timeouts[0], from.nowMs - startMs]).toEqual([1, timeoutMs, withinMs]);
    await from.stop();
  });

  it('is lost at the deadline, and says so', async () => {
    const from = await filled();
    const said: unknown[] = [];
    const warn = (text: string, fields: unknown): void => void said.push(text, fields);
    const by = handOver(from, {
      nowMs: () => performance.now(),
      log: { warn } as unknown as TargetLogger,
    });
    const counts = await by.ship(pack(from, by, 'q', 'p'), 50).all;
    expect(counts).toEqual({ rings: 1, delivered: 0, lost: 1, messages: 0 });
    expect([by.wipes, said[0]]).toEqual([
      1,
      "hand-over failed; the partition's contents are dropped",
    ]);
    await from.stop();
  });
});
