/**
 * Crashes at random points: pushes and acks run, the process or the machine dies in the middle of a
 * random disk operation, the directory is opened again. Everything acknowledged is there exactly once
 * and in order; what was not acknowledged may be there, once.
 */
import { Prng } from '../../common/prng.js';
import { CommandKind } from '../../machine/commands/index.js';
import {
  ackCommand,
  asPush,
  claimCommand,
  grantOf,
  pushCommand,
  registerCommand,
} from '../../../test/support/group-commands.js';
import { GroupHarness } from '../../../test/support/group-harness.js';

const PARTITIONS = 4;
const SEEDS = Number(process.env['CRASH_SEEDS'] ?? 4);
const ROUNDS = Number(process.env['CRASH_ROUNDS'] ?? 4);

/** What clients were told. */
class Ledger {
  /** transactionId → offset, per partition name. */
  readonly acknowledged = new Map<string, Map<string, number>>();
  readonly submitted = new Map<string, Set<string>>();
  readonly partitionIds = new Map<string, number>();
  /** Highest offset whose ack was confirmed, per partition. */
  readonly acked = new Map<string, number>();
  next = 0;

  confirm(partition: string, id: string, offset: number): void {
    const known = this.acknowledged.get(partition) ?? new Map<string, number>();
    const before = known.get(id);
    if (before !== undefined) expect(offset).toBe(before);
    known.set(id, offset);
    this.acknowledged.set(partition, known);
  }
}

async function pushSome(h: GroupHarness, ledger: Ledger, prng: Prng): Promise<void> {
  const partition = `p${prng.nextBelow(PARTITIONS)}`;
  const count = 1 + prng.nextBelow(5);
  const known = ledger.submitted.get(partition) ?? new Set<string>();
  ledger.submitted.set(partition, known);
  const ids = Array.from({ length: count }, () => {
    // Some ids are sent again: the answer must name the first offset.
    const again = known.size > 0 && prng.nextBelow(10) === 0;
    return again ? [...known][prng.nextBelow(known.size)]! : `t${ledger.next++}`;
  });
  for (const id of ids) known.add(id);
  const size = prng.nextBelow(10) === 0 ? 40_000 : 20 + prng.nextBelow(200);
  const messages = ids.map((id) => ({ transactionId: id, payload: id.padEnd(size, '.') }));
  const outcome = await h.group.submit(pushCommand('q', partition, messages), h.soon());
  const [group] = asPush(outcome).groups;
  if (group?.verdict !== 'applied') throw new Error('push refused');
  ledger.partitionIds.set(partition, group.partitionId);
  ids.forEach((id, i) => ledger.confirm(partition, id, group.offsets[i]!));
}

/** Claims what is next in one partition and acknowledges all of it. */
async function consumeSome(h: GroupHarness, ledger: Ledger, prng: Prng): Promise<void> {
  const partition = `p${prng.nextBelow(PARTITIONS)}`;
  const partitionId = ledger.partitionIds.get(partition);
  if (partitionId === undefined) return;
  const { group } = h;
  const registered = await group.submit(registerCommand('q', 'g'), h.soon());
  if (registered.kind !== CommandKind.Register || registered.groupId === null) return;
  const { tables } = group;
  const slot = tables.partitions.byId(partitionId as never);
  const cursor = tables.cursors.find(slot, registered.groupId);
  const committed = cursor < 0 ? -1 : tables.cursors.committed(cursor);
  const last = Math.min(tables.partitions.lastOffset(slot), committed + 3);
  if (last <= committed || (cursor >= 0 && tables.cursors.lease(cursor) >= 0)) return;
  const leaseId = new Uint8Array(16);
  prng.fill(leaseId);
  const place = {
    ...{ queueId: tables.partitions.queueId(slot), partitionId, groupId: registered.groupId },
    ...{ cursorVersion: cursor < 0 ? 0 : tables.cursors.version(cursor) },
    ...{ first: committed + 1, last },
  };
  await group.propose(claimCommand([grantOf({ session: 0, sequence: 1 }, leaseId, place)]));
  const ack = ackCommand('g', { partitionId, leaseId, first: committed + 1, last });
  const outcome = await group.submit(ack, h.soon());
  if (outcome.kind !== CommandKind.Ack || outcome.targets[0]?.verdict !== 'applied') return;
  ledger.acked.set(partition, Math.max(ledger.acked.get(partition) ?? -1, last));
}

async function check(h: GroupHarness, ledger: Ledger): Promise<void> {
  for (const [partition, known] of ledger.acknowledged) {
    const partitionId = ledger.partitionIds.get(partition)!;
    const messages = await h.group.readMessages(partitionId, 0, 1_000_000);
    const seen = new Map<string, number>();
    messages.forEach((message, i) => {
      expect(message.offset).toBe(i);
      const id = Buffer.from(message.transactionId).toString();
      expect(seen.has(id)).toBe(false);
      seen.set(id, message.offset);
      expect(Buffer.from(message.payload).toString().startsWith(id)).toBe(true);
    });
    for (const [id, offset] of known) expect([id, seen.get(id)]).toEqual([id, offset]);
    for (const id of seen.keys()) expect(ledger.submitted.get(partition)?.has(id)).toBe(true);
    const slot = h.group.tables.partitions.byId(partitionId as never);
    const acked = ledger.acked.get(partition) ?? -1;
    const cursor = h.group.tables.partitions.firstCursor(slot);
    if (acked >= 0) expect(h.group.tables.cursors.committed(cursor)).toBeGreaterThanOrEqual(acked);
  }
}

async function run(seed: number): Promise<void> {
  const prng = new Prng(seed);
  const h = await GroupHarness.create({
    ...{ seed, checkpointMs: 10 + prng.nextBelow(60), segmentBytes: 256 * 1024, idTableBits: 6 },
    tailCacheBytes: 64 * 1024,
  });
  const ledger = new Ledger();
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      h.disk?.crashAfter(5 + prng.nextBelow(400));
      await Promise.allSettled(
        Array.from({ length: 8 }, async () => {
          for (let i = 0; i < 60; i += 1) {
            if (prng.nextBelow(4) === 0) await consumeSome(h, ledger, prng);
            else await pushSome(h, ledger, prng);
          }
        }),
      );
      await h.crash(prng.nextBelow(4) !== 0);
      await h.open();
      await check(h, ledger);
    }
    expect(ledger.next).toBeGreaterThan(10);
  } finally {
    await h.remove();
  }
}

describe('crashes of a single voter', () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    it(`keeps what it acknowledged, exactly once and in order (seed ${seed})`, async () => {
      await run(seed);
    }, 180_000);
  }
});
