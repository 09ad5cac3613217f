/**
 * The collector on a real group and real files, a pass at a time: what it frees, what holds it (dead
 * letters, reads under way, a state that is not durable yet), and what damage does to it.
 */
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { logIndex, micros, offset, partitionId } from '../../../common/ids.js';
import {
  AckStatus,
  encodeAck,
  encodeRemoveDeadLetters,
  encodeTrimPartitions,
} from '../../../machine/commands/index.js';
import { TrimRule } from '../../../machine/commands/retention.js';
import {
  decodeDeadLetterRow,
  type DeadLetterRow,
} from '../../../machine/tables/dead-letter-row.js';
import { KEYSPACE, keyspaceRange } from '../../../machine/tables/keyspaces.js';
import {
  asPush,
  claimCommand,
  grantOf,
  pushCommand,
  registerCommand,
  TENANT,
} from '../../../../test/support/group-commands.js';
import { openLocalGroup, type OpenedLocalGroup } from '../../open-local-group.js';
import type { LocalGroup, LocalGroupParts } from '../local-group.js';
import { Collector, type CollectorOptions, type CollectorParts } from './collector.js';
import { ReadPins } from './read-pins.js';

const SEGMENT_BYTES = 64 * 1024;
const MESSAGE_BYTES = 8 * 1024;
/** Offset of a message whose segment holds nothing of another queue. */
const LETTER = 6;
const OPTIONS = { intervalMs: 3_600_000, minDeadPercent: 50 };
const PATIENCE_MS = 60_000;

jest.setTimeout(180_000);

async function until(what: string, holds: () => boolean): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

describe('collector', () => {
  let root: string;
  let opened: OpenedLocalGroup;
  let group: LocalGroup;
  let parts: LocalGroupParts;
  let damages: Error[];
  let letterCount: number;

  const open = async (collector?: CollectorOptions): Promise<void> => {
    opened = await openLocalGroup({
      ...{ directory: join(root, 'data'), nodeId: 1, segmentBytes: SEGMENT_BYTES },
      ...{ checkpointMs: 5, logKeepEntries: 1, tailCacheBytes: 1 },
      ...(collector === undefined ? {} : { collector }),
    });
    ({ group } = opened);
    ({ parts } = group as unknown as { parts: LocalGroupParts });
  };

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), 'queen-collector-'));
    damages = [];
    letterCount = 0;
    await open();
  });

  afterEach(async () => {
    await opened.close();
    rmSync(root, { recursive: true, force: true });
  });

  const submit = (bytes: Uint8Array) =>
    group.submit({ bytes }, { deadlineMs: performance.now() + PATIENCE_MS });

  const collectorOf = (
    changed: Partial<CollectorParts> = {},
    options: Partial<CollectorOptions> = {},
  ): Collector => {
    const { machine, wal, store, log } = parts;
    const standard = {
      ...{ machine, store, log, retired: wal.retired!, pins: parts.pins ?? new ReadPins() },
      nowMs: () => performance.now(),
      view: () => group.view(),
      damaged: (error: Error) => void damages.push(error),
    };
    return new Collector({ ...standard, ...changed }, { ...OPTIONS, ...options });
  };

  /** So many passes that every segment was read and judged. */
  const collect = async (collector = collectorOf()): Promise<void> => {
    for (let pass = 0; pass < 40; pass += 1) await collector.poll();
    await collector.stop();
  };

  /** Messages of one push each; answers the partition. */
  const fill = async (queue: string, partition: string, count: number): Promise<number> => {
    let id = -1;
    for (let i = 0; i < count; i += 1) {
      const transactionId = `${queue}-${partition}-${Math.random()}`;
      const message = { transactionId, payload: transactionId.padEnd(MESSAGE_BYTES, 'x') };
      const outcome = asPush(await submit(pushCommand(queue, partition, [message]).bytes));
      const [answer] = outcome.groups;
      if (answer?.verdict !== 'applied') throw new Error(JSON.stringify(answer));
      id = answer.partitionId;
    }
    return id;
  };

  const slotOf = (id: number): number => group.tables.partitions.byId(partitionId(id));

  /** Everything below `next` is cut off. */
  const cut = async (id: number, next: number): Promise<void> => {
    const { partitions } = group.tables;
    const slot = slotOf(id);
    const trim = {
      ...{ queueId: partitions.queueId(slot), partitionId: partitionId(id) },
      ...{ optionsVersion: group.tables.queues.byId(partitions.queueId(slot))!.optionsVersion },
      ...{ rule: TrimRule.MaxWait, logStart: partitions.logStart(slot), next },
      ...{ removedBytes: 0, unheldBelow: 0 },
    };
    const outcome = await group.propose({ bytes: encodeTrimPartitions({ trims: [trim] }) });
    expect(outcome).toMatchObject({ trimmed: 1 });
  };

  /** The newest segment is sealed, and all sealed ones leave the raft log. */
  const retire = async (): Promise<void> => {
    await fill('filler', 'p', (2 * SEGMENT_BYTES) / MESSAGE_BYTES);
    const { applied } = group.status();
    await until('the checkpoint', () => group.status().durable >= applied);
    await parts.wal.purge(logIndex(applied));
  };

  /** The first message of the partition becomes a dead letter. */
  const fileLetter = async (queue: string, id: number, at: number): Promise<DeadLetterRow> => {
    const registered = await submit(registerCommand(queue, 'g').bytes);
    const { groupId } = registered as unknown as { groupId: number };
    const { partitions, cursors } = group.tables;
    const slot = slotOf(id);
    const cursor = cursors.find(slot, groupId as never);
    letterCount += 1;
    const leaseId = new Uint8Array(16).fill(letterCount);
    const grant = grantOf({ session: 0, sequence: 1 }, leaseId, {
      ...{ queueId: partitions.queueId(slot), partitionId: id, groupId },
      cursorVersion: cursor < 0 ? 0 : cursors.version(cursor),
      ...{ first: cursor < 0 ? 0 : cursors.committed(cursor) + 1, last: at },
    });
    await group.propose(claimCommand([grant]));
    const deadLetterId = new Uint8Array(16).fill(letterCount);
    const place = { offset: offset(at), baseOffset: offset(at) };
    const signals = [{ ...place, status: AckStatus.Dlq as const, error: 'no', deadLetterId }];
    const completed = at === 0 ? [] : [0, at - 1];
    const target = { partitionId: partitionId(id), leaseId, completed, signals };
    const targets = [{ ...target, fallbackError: null }];
    const outcome = await submit(encodeAck(TENANT, { group: 'g', skewMicros: 0, targets }));
    expect(outcome).toMatchObject({ targets: [{ verdict: 'applied', filed: 1 }] });
    const [letter] = (await letters()).slice(-1);
    return letter!;
  };

  const letters = async (): Promise<DeadLetterRow[]> => {
    const view = await group.view();
    const rows: DeadLetterRow[] = [];
    try {
      for await (const [, value] of view.iterate(keyspaceRange(KEYSPACE.deadLetters))) {
        rows.push(decodeDeadLetterRow(value));
      }
    } finally {
      await view.close();
    }
    return rows;
  };

  const removeLetter = async ({ queueId, failedAt, deadLetterId }: DeadLetterRow) => {
    const letter = { queueId: queueId as never, failedAt: micros(failedAt), deadLetterId };
    await submit(encodeRemoveDeadLetters(TENANT, { letters: [letter] }));
    expect(await letters()).toEqual([]);
  };

  const bytesOf = ({ entryIndex, blockOffset, start, length, crc }: DeadLetterRow) =>
    group.readRecord({ entryIndex, start: blockOffset + start, length, crc });

  const retired = () => parts.wal.retired!.segments();
  const holding = (entry: number) =>
    retired().find(({ first, last }) => first <= entry && entry <= last);

  /** Two segments of a partition whose whole log is cut off, behind one that lives. */
  const dyingScene = async (): Promise<number> => {
    await fill('kept', 'p', 4);
    const dying = await fill('dying', 'p', 16);
    await retire();
    return dying;
  };

  it('frees segments without a live message and keeps the others, also over a restart', async () => {
    const dying = await dyingScene();
    const before = retired().length;
    await cut(dying, 16);
    await collect();
    expect(retired().length).toBeLessThan(before);
    const kept = await group.readMessages(1, 0, 100);
    expect(kept).toHaveLength(4);
    const names = readdirSync(join(root, 'data', 'wal')).filter((name) => name.endsWith('.seg'));
    await opened.close();
    await open();
    expect(await group.readMessages(1, 0, 100)).toEqual(kept);
    expect(names.length).toBeLessThanOrEqual(retired().length + 4);
  });

  it('keeps a segment as long as one live entry of a partition is in it', async () => {
    const dying = await dyingScene();
    await cut(dying, 15);
    await collect();
    expect(await group.readMessages(dying, 15, 15)).toHaveLength(1);
    await cut(dying, 16);
    await fill('dying', 'p', 1);
    await collect();
    expect(await group.readMessages(dying, 16, 16)).toHaveLength(1);
  });

  it('keeps every live entry when it rewrites, the first of a log too', async () => {
    await fill('kept', 'p', 4);
    const dying = await fill('dying', 'p', 8);
    const halved = await fill('halved', 'p', 2);
    await retire();
    await cut(dying, 8);
    await cut(halved, 1);
    await collect();
    expect(retired().some(({ revision }) => revision === 1)).toBe(true);
    const found = await group.readMessages(halved, 0, 100);
    expect(found.map((message) => message.offset)).toEqual([1]);
  });

  it('keeps what a dead letter pins and frees it when the letter is gone', async () => {
    const dying = await dyingScene();
    const letter = await fileLetter('dying', dying, LETTER);
    await cut(dying, 16);
    let nowMs = performance.now();
    const collector = collectorOf({ nowMs: () => nowMs });
    for (let pass = 0; pass < 40; pass += 1) await collector.poll();
    const whole = await bytesOf(letter);
    expect(Buffer.from(whole).toString()).toContain('dying-p-');
    // Rewritten: nothing but the letter is left, and a second look would win nothing.
    expect(holding(letter.entryIndex)).toMatchObject({ revision: 1 });
    await collector.poll();
    expect(holding(letter.entryIndex)).toMatchObject({ revision: 1 });
    await removeLetter(letter);
    await collector.poll();
    expect(holding(letter.entryIndex)).toBeDefined();
    nowMs += 3_600_000;
    await collector.poll();
    await collector.stop();
    expect(holding(letter.entryIndex)).toBeUndefined();
    await expect(bytesOf(letter)).rejects.toThrow('not kept any more');
    expect(group.status().role).toBe('leader');
  });

  it('rewrites a segment with little left once, and goes on behind it', async () => {
    await submit(pushCommand('tiny', 'p', [{ transactionId: 't', payload: 'x' }]).bytes);
    const little = group.status().applied;
    const dying = await fill('dying', 'p', (4 * SEGMENT_BYTES) / MESSAGE_BYTES);
    await retire();
    const before = retired().length;
    await cut(dying, (4 * SEGMENT_BYTES) / MESSAGE_BYTES);
    const collector = collectorOf();
    for (let pass = 0; pass < 40; pass += 1) await collector.poll();
    await collector.stop();
    // More than half of it is the file's own frame now.
    expect(holding(little)).toMatchObject({ revision: 1 });
    expect(retired().length).toBeLessThanOrEqual(before - 3);
    expect(await group.readMessages(1, 0, 0)).toHaveLength(1);
  });

  it('waits for reads and snapshots that began before', async () => {
    const dying = await dyingScene();
    const before = retired().length;
    await cut(dying, 16);
    const pins = new ReadPins();
    const collector = collectorOf({ pins });
    // Everything is read before the reader comes: the next pass would free.
    const reader = pins.enter();
    const passes = (async () => {
      for (let pass = 0; pass < 40; pass += 1) await collector.poll();
    })();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(retired()).toHaveLength(before);
    pins.leave(reader);
    await passes;
    await collector.stop();
    expect(retired().length).toBeLessThan(before);
  });

  it('frees nothing before the judged state is durable', async () => {
    const dying = await dyingScene();
    const before = retired().length;
    await cut(dying, 16);
    let nowMs = 0;
    const store = { durableIndex: 1 };
    const nowOf = (): number => (nowMs += 1_000);
    await collect(collectorOf({ store, nowMs: nowOf }));
    expect(retired()).toHaveLength(before);
    store.durableIndex = group.status().applied;
    await collect(collectorOf({ store, nowMs: nowOf }));
    expect(retired().length).toBeLessThan(before);
  });

  /** Flips a bit of the letter's message where it stands in the file. */
  const damage = ({ entryIndex }: DeadLetterRow): string => {
    const { sequence } = holding(entryIndex)!;
    const name = readdirSync(join(root, 'data', 'wal'))
      .filter((file) => Number.parseInt(file, 10) === sequence)
      .at(-1)!;
    const path = join(root, 'data', 'wal', name);
    const file = openSync(path, 'r+');
    const byte = Buffer.alloc(1);
    const at = SEGMENT_BYTES / 2;
    readSync(file, byte, 0, 1, at);
    writeSync(file, Buffer.of(byte.readUInt8(0) ^ 4), 0, 1, at);
    closeSync(file);
    return path;
  };

  it('tells damage that it meets, and changes nothing', async () => {
    const dying = await dyingScene();
    const letter = await fileLetter('dying', dying, LETTER);
    const path = damage(letter);
    await collect();
    expect(damages.length).toBeGreaterThan(0);
    expect(damages[0]).toMatchObject({ name: 'WalDamageError', file: path });
    expect(holding(letter.entryIndex)).toMatchObject({ revision: 0 });
  });

  it('stops the node at damage', async () => {
    const dying = await dyingScene();
    const path = damage(await fileLetter('dying', dying, LETTER));
    await opened.close();
    await open({ ...OPTIONS, intervalMs: 10 });
    await until('the stop', () => group.status().role === 'stopped');
    expect(group.status().failure?.error).toContain(path);
  });
});
