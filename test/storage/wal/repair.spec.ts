/**
 * Damaged sealed and retired segments are rebuilt from a member's entries: every file, every kind of
 * damage, a kill or power loss at every step of the repair. Afterwards the log serves everything. What
 * a member does not have, or has of another log, is never made up.
 */
import { logIndex, nodeId, term } from '../../../src/common/ids.js';
import { Prng } from '../../../src/common/prng.js';
import { openIdentity, repairWal, WalDamageError } from '../../../src/raft/wal/index.js';
import type { EntrySource, RepairReport, SharedEntry } from '../../../src/raft/wal/index.js';
import type { FaultyFilePort } from '../../support/faulty-file-port.js';
import { checkServes, DATA, LOG, makeSampleLog, openLog, type SampleLog } from './sample-log.js';

const PLACES = 6;
const TRUNCATED_TO = 41;
const DAMAGES = ['bit flip', 'truncate', 'delete', 'swap'] as const;
type Damage = (typeof DAMAGES)[number];

let sample: SampleLog;
/** Sealed and retired. */
let sealed: string[];

beforeAll(async () => {
  sample = await makeSampleLog();
  const wal = await openLog(sample.port.clone(() => 0));
  sealed = wal.segments().flatMap(({ state, path }) => (state === 'active' ? [] : [path]));
  await wal.close();
});

/** A member of the same log; `told` may change or drop what it says. */
function member(told: (entry: SharedEntry) => SharedEntry = (entry) => entry): EntrySource {
  return async function* (indexes) {
    for (const index of indexes) {
      const payload = sample.payloads.get(index) as Buffer;
      const entryTerm = term(index <= TRUNCATED_TO ? 1 : 2);
      yield told({ index, term: entryTerm, kind: 'normal', payload });
    }
  };
}

const silent: EntrySource = () => {
  throw new Error('it is silent');
};

const gone = (entry: SharedEntry): SharedEntry =>
  entry.index % 2 === 0 ? { ...entry, payload: null } : entry;

/** What a member tells of an entry of which it kept only what rows name. */
const blanked = (entry: SharedEntry): SharedEntry =>
  entry.index % 2 === 0 ? { ...entry, payload: Buffer.alloc(entry.payload?.length ?? 0) } : entry;
const isPartial = (payload: Buffer): boolean => payload.every((byte) => byte === 0);

async function repair(
  port: FaultyFilePort,
  sources: readonly EntrySource[],
  durableIndex = 0,
): Promise<RepairReport> {
  const expected = { clusterId: 'cluster', nodeId: nodeId(2) };
  const { identity } = await openIdentity({ files: port, directory: DATA, expected });
  const log = (): void => undefined;
  const place = { files: port, directory: LOG, identity };
  return repairWal({ ...place, sources, durableIndex, isPartial, full: true, log });
}

function inflict(port: FaultyFilePort, path: string, how: { damage: Damage; random: Prng }): void {
  const { damage, random } = how;
  const content = port.peek(path);
  const at = random.nextBelow(content.length);
  if (damage === 'delete') return port.plant(path, undefined);
  if (damage === 'truncate') return port.plant(path, content.subarray(0, at));
  if (damage === 'swap') {
    const others = sealed.filter((other) => other !== path);
    const other = others[random.nextBelow(others.length)] as string;
    port.plant(path, port.peek(other));
    return port.plant(other, content);
  }
  content[at] = (content[at] as number) ^ (1 << random.nextBelow(8));
  port.plant(path, content);
}

const damagedPort = (path: string, damage: Damage, place: number): FaultyFilePort => {
  const random = new Prng(place * 1000 + sealed.indexOf(path));
  const port = sample.port.clone(() => random.nextFloat());
  inflict(port, path, { damage, random });
  return port;
};

it.each(DAMAGES)('%s of every sealed file: rebuilt, everything served', async (damage) => {
  expect(sealed.length).toBeGreaterThan(6);
  for (const path of sealed) {
    for (let place = 0; place < PLACES; place += 1) {
      const port = damagedPort(path, damage, place);
      const { repaired } = await repair(port, [silent, member()]);
      expect({ path, place, count: repaired.length }).toEqual({
        ...{ path, place, count: damage === 'swap' ? 2 : 1 },
      });
      const wal = await openLog(port);
      expect(await checkServes(wal, sample)).toBe(0);
      await wal.close();
      expect((await repair(port, [silent])).repaired).toEqual([]);
    }
  }
});

it('rebuilds all of them at once, from nothing but the manifest and the active segment', async () => {
  const port = sample.port.clone(() => 0);
  for (const path of sealed) port.plant(path, undefined);
  const { repaired } = await repair(port, [member()], TRUNCATED_TO);
  expect(repaired).toHaveLength(sealed.length);
  const wal = await openLog(port);
  for (const [index, payload] of sample.payloads) {
    expect((await wal.readEntry(logIndex(index))).payload.equals(payload)).toBe(true);
  }
  expect(wal.lastIndex).toBe(sample.lastIndex);
  expect(wal.hardState).toEqual(sample.hardState);
  await wal.close();
});

it('can be killed or lose power at every step and be repeated', async () => {
  const path = sealed.at(-1) as string;
  for (const end of ['kill', 'powerLoss'] as const) {
    let steps = 0;
    for (let isDone = false; !isDone; steps += 1) {
      const port = damagedPort(path, 'bit flip', 3);
      port.crashAfter(steps + 1);
      await repair(port, [member()]).then(
        () => {
          isDone = !port.crashed;
        },
        (error: unknown) => {
          if (!port.crashed) throw error;
        },
      );
      port[end]();
      await repair(port, [member()]);
      const wal = await openLog(port);
      expect(await checkServes(wal, sample)).toBe(0);
      await wal.close();
    }
    expect(steps).toBeGreaterThan(8);
  }
});

describe('a member that let go of entries', () => {
  it('is passed over for one that has them whole', async () => {
    const path = sealed.at(-1) as string;
    const port = damagedPort(path, 'delete', 0);
    await repair(port, [member(blanked), member()]);
    const wal = await openLog(port);
    expect(await checkServes(wal, sample)).toBe(0);
    await wal.close();
  });

  it('leaves holes in a retired segment, which are gone and not damaged', async () => {
    const [path = ''] = sealed;
    const port = damagedPort(path, 'delete', 0);
    await repair(port, [member(gone)]);
    const wal = await openLog(port);
    const [first] = wal.segments();
    for (let index = first?.first ?? 0; index <= (first?.last ?? -1); index += 1) {
      const read = wal.readEntry(logIndex(index));
      if (index % 2 === 0) await expect(read).rejects.toThrow('is not in');
      else expect((await read).payload.equals(sample.payloads.get(index) as Buffer)).toBe(true);
    }
    await wal.close();
  });

  it.each([
    ['whole entries', gone],
    ['parts of entries', blanked],
  ])('of %s: a sealed segment retires if the checkpoint covers it', async (_name, told) => {
    const whole = await openLog(sample.port.clone(() => 0));
    const live = whole.segments().filter(({ state, first, last }) => {
      return state === 'sealed' && last >= first;
    });
    const chosen = live.at(-1);
    await whole.close();
    const { path = '', last = 0, sequence = 0 } = chosen ?? {};
    const refused = damagedPort(path, 'delete', 0);
    const before = refused.paths();
    const refusing = repair(refused, [member(told)], last - 1);
    await expect(refusing).rejects.toThrow('let go of entries');
    // Asked again it says the same; a member that is silent may yet have all of them.
    await expect(refusing).rejects.toMatchObject({ maybeLater: false });
    const waiting = repair(refused, [silent, member(told)], last - 1);
    await expect(waiting).rejects.toMatchObject({ maybeLater: true });
    // The line of the boot names file and cure.
    await expect(refusing).rejects.toThrow(path);
    await expect(refusing).rejects.toThrow('empty its data directory and add it again');
    expect(refused.paths()).toEqual(before);
    const port = damagedPort(path, 'delete', 0);
    await repair(port, [member(told)], last);
    const wal = await openLog(port);
    expect(wal.firstIndex).toBe(last + 1);
    const states = wal.segments().filter((row) => row.sequence <= sequence);
    expect(new Set(states.map(({ state }) => state))).toEqual(new Set(['retired']));
    await wal.close();
  });
});

it.each([
  ['of another log', member((entry) => ({ ...entry, term: term(3) })), 'is of another log'],
  [
    'that mixes up entries',
    member((entry) => ({ ...entry, index: entry.index + 1 })),
    'told entry',
  ],
  ['that is silent', silent, 'it is silent'],
])('changes nothing for a member %s', async (_name, source, why) => {
  const path = sealed.at(-1) as string;
  const port = damagedPort(path, 'truncate', 1);
  const before = port.paths();
  const failing = repair(port, [source]);
  await expect(failing).rejects.toThrow(WalDamageError);
  await expect(failing).rejects.toThrow(why);
  expect(port.paths()).toEqual(before);
  await repair(port, [member()]);
  await (await openLog(port)).close();
});

it('needs no member where only the footer is damaged in a retired segment of its own', async () => {
  const port = sample.port.clone(() => 0);
  const path = sealed.at(-1) as string;
  port.plant(path, Buffer.concat([port.peek(path), Buffer.from('more')]));
  const { repaired } = await repair(port, []);
  expect(repaired[0]?.fetched).toBe(0);
  const wal = await openLog(port);
  expect(await checkServes(wal, sample)).toBe(0);
  await wal.close();
});
