/**
 * Damage of every kind to every file: the log refuses to open naming file and cure, or (content of
 * a sealed segment) the scrub and the read find it. It never opens and serves less.
 */
import { Prng } from '../../../src/common/prng.js';
import { logIndex } from '../../../src/common/ids.js';
import { EntryNotFoundError, WalDamageError, type Wal } from '../../../src/raft/wal/index.js';
import type { FaultyFilePort } from '../../support/faulty-file-port.js';
import { checkServes, LOG, makeSampleLog, openLog, type SampleLog } from './sample-log.js';

const PLACES = 20;
const DAMAGES = ['bit flip', 'truncate', 'delete', 'swap'] as const;
type Damage = (typeof DAMAGES)[number];

/** Cutting or losing these two costs no data: the synced mark only narrows what a restart accepts. */
const ADVISORY = `${LOG}/synced`;

function inflict(port: FaultyFilePort, path: string, how: { damage: Damage; random: Prng }): void {
  const { damage, random } = how;
  const content = port.peek(path);
  const at = random.nextBelow(content.length);
  if (damage === 'delete') {
    port.plant(path, undefined);
  } else if (damage === 'truncate') {
    port.plant(path, content.subarray(0, at));
  } else if (damage === 'bit flip') {
    content[at] = (content[at] as number) ^ (1 << random.nextBelow(8));
    port.plant(path, content);
  } else {
    const others = port.paths().filter((other) => other !== path);
    const other = others[random.nextBelow(others.length)] as string;
    port.plant(path, port.peek(other));
    port.plant(other, content);
  }
}

describe('damaged write-ahead log', () => {
  let sample: SampleLog;
  let paths: string[];

  beforeAll(async () => {
    sample = await makeSampleLog();
    paths = sample.port.paths();
  });

  it('is a sample with everything in it', async () => {
    const wal = await openLog(sample.port.clone(() => 0));
    expect(await checkServes(wal, sample)).toBe(0);
    const states = wal.segments().map((segment) => segment.state);
    for (const state of ['retired', 'sealed', 'active']) expect(states).toContain(state);
    expect(wal.segments().some((s) => s.state === 'sealed' && s.last < s.first)).toBe(true);
    expect(paths.length).toBeGreaterThan(9);
  });

  it.each(DAMAGES)('%s: refused or found, for every file', async (damage) => {
    let refused = 0;
    let found = 0;
    for (const path of paths) {
      for (let place = 0; place < PLACES; place += 1) {
        const random = new Prng(place * 1000 + paths.indexOf(path));
        const port = sample.port.clone(() => random.nextFloat());
        inflict(port, path, { damage, random });
        const outcome = await outcomeOf(port, sample, path);
        if (outcome === 'refused') refused += 1;
        else if (outcome === 'found') found += 1;
        else if (path !== ADVISORY) throw new Error(`${damage} of ${path} #${place}: ${outcome}`);
      }
    }
    expect(refused).toBeGreaterThan(PLACES);
    if (damage === 'bit flip') expect(found).toBeGreaterThan(PLACES);
  });

  it('opens without the synced mark and serves everything', async () => {
    const port = sample.port.clone(() => 0);
    port.plant(ADVISORY, undefined);
    expect(await outcomeOf(port, sample, ADVISORY)).toBe('all served');
  });

  it('notices a bad record before the last batch even without the synced mark', async () => {
    const active = paths.filter((path) => path.endsWith('.seg')).at(-1) as string;
    const whole = await openLog(sample.port.clone(() => 0));
    const last = await whole.locate(logIndex(sample.lastIndex));
    const end = last.payloadPosition + last.payloadBytes;
    for (let at = 0; at < end; at += 37) {
      const port = sample.port.clone(() => 0);
      port.plant(ADVISORY, undefined);
      const content = port.peek(active);
      content[at] = (content[at] as number) ^ 0x10;
      port.plant(active, content);
      expect(await outcomeOf(port, sample, active)).toBe('refused');
    }
  });

  it('never takes bytes of a pushed log file for records', async () => {
    const port = sample.port.clone(() => 0);
    let wal = await openLog(port);
    const active = paths.filter((path) => path.endsWith('.seg')).at(-1) as string;
    const next = wal.lastIndex + 1;
    await wal.roll();
    const entry = { index: logIndex(next), term: wal.lastTerm, kind: 'normal' as const };
    await wal.append({ entries: [{ ...entry, parts: [sample.port.peek(active)] }] });
    const current = wal.segments().at(-1)?.path as string;
    await wal.close();
    port.plant(ADVISORY, undefined);
    const content = port.peek(current);
    port.plant(current, content.subarray(0, content.length - 1));
    wal = await openLog(port);
    expect(wal.lastIndex).toBe(next - 1);
    await expect(wal.readEntry(logIndex(next))).rejects.toThrow(EntryNotFoundError);
  });
});

async function outcomeOf(
  port: FaultyFilePort,
  sample: SampleLog,
  path: string,
): Promise<'refused' | 'found' | 'all served'> {
  let wal: Wal;
  const before = port.paths();
  try {
    wal = await openLog(port);
  } catch (error) {
    if (!(error instanceof WalDamageError)) throw error;
    expect(error.file).toMatch(/^\/data\//);
    expect(error.message).toContain(error.file);
    expect(error.cure.length).toBeGreaterThan(40);
    // Refusing changes nothing, so the operator still has everything.
    const identity = path.endsWith('identity') ? [path] : [];
    expect(new Set(port.paths())).toEqual(new Set([...before, ...identity]));
    return 'refused';
  }
  const damaged = await checkServes(wal, sample);
  return damaged > 0 ? 'found' : 'all served';
}
