/**
 * `queen verify`: a sound directory with everything in it is sound and its digest is that of a start;
 * every kind of damage is found and named with its cure, in the words of a refused start; nothing in the
 * directory is changed by any of it.
 */
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  lstatSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { VerifyReport } from '../../src/raft/index.js';
import { PENDING_KIND } from '../../src/raft/snapshot/snapshot-files.js';
import { encodeDocument, NodeFilePort, segmentFileName } from '../../src/raft/wal/index.js';
import { readManifest, writeManifest } from '../../src/raft/wal/manifest.js';
import { Overlay, Store } from '../../src/storage/index.js';
import { replayedState } from '../support/replayed-state.js';
import {
  active,
  copyOf,
  damagesOf,
  flip,
  makeScene,
  segmentOf,
  tableOf,
  verified,
} from '../support/verify-scene.js';

jest.setTimeout(120_000);

let root: string;
let stopped: string;
let cutOff: string;
let backup: string;

beforeAll(async () => {
  ({ root, stopped, cutOff, backup } = await makeScene());
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

it('finds a stopped node sound, and reads all there is', async () => {
  const report = await verified(stopped);
  expect(damagesOf(report)).toEqual([]);
  expect(report).toMatchObject({ kind: 'data', isSound: true });
  const [group] = report.groups;
  expect(group).toMatchObject({ group: 0, nodeId: 1, uncommitted: 0, findings: [] });
  expect(group!.read).toMatchObject({ deadLetters: 1, timers: 2 });
  expect(group!.read.messages).toBeGreaterThanOrEqual(6);
  expect(group!.read.segments).toBeGreaterThan(1);
  expect(group!.read.rows).toBeGreaterThan(10);
  expect(group!.end).toEqual(group!.checkpoint);
});

it('tells the digest that a start comes to, and that of an entry on the way', async () => {
  const { groups } = await verified(cutOff);
  const { checkpoint, end } = groups[0]!;
  expect(damagesOf({ groups } as VerifyReport)).toEqual([]);
  expect(end!.index).toBeGreaterThan(checkpoint!.index);
  const between = checkpoint!.index + 1;
  const truth = await replayedState(copyOf(cutOff), between);
  expect(end).toMatchObject({ index: truth.index, digest: truth.digest });
  const told = (await verified(cutOff, between)).groups[0]!;
  expect(told.at).toMatchObject({ index: between, digest: truth.digestAt });
});

interface Damage {
  readonly what: string;
  readonly of?: () => string;
  readonly make: (directory: string) => void | Promise<void>;
  /** In one line of damage. */
  readonly says: readonly string[];
  /** The cure is named with it, unless this is. */
  readonly cure?: string;
}

const REPLACE = 'On a single node';
/** As a receiver leaves it before it stops to load it. */
function makePending(directory: string): void {
  cpSync(backup, join(directory, 'snapshots', 'recv-7'), { recursive: true });
  const marker = { directory: 'recv-7', index: 7, term: 1 };
  writeFileSync(join(directory, 'snapshot.pending'), encodeDocument(PENDING_KIND, marker));
}

/** Files that are whole one by one, and together lack what rows point to. */
async function forgetRetired(directory: string): Promise<void> {
  const files = new NodeFilePort();
  const manifest = (await readManifest(files, join(directory, 'wal')))!;
  for (const { state, sequence, revision } of manifest.segments) {
    const path = join(directory, 'wal', segmentFileName(sequence, revision));
    if (state === 'retired') rmSync(path);
  }
  const segments = manifest.segments.filter(({ state }) => state !== 'retired');
  await writeManifest(files, join(directory, 'wal'), { ...manifest, segments });
}

/** Sealed and stored as any row, of a layout this build does not have. */
async function writeRow(directory: string, key: Uint8Array, value: Uint8Array): Promise<void> {
  const store = await Store.open({ directory });
  const overlay = new Overlay({ maxBytes: 1024 * 1024 });
  overlay.put(key, value);
  await store.writeCheckpoint(overlay.freeze(), store.meta!);
  await store.close();
}

const DAMAGES: readonly Damage[] = [
  {
    what: 'bit flip in a retired segment',
    make: (d) => flip(segmentOf(d, (r) => r.state === 'retired')),
    says: ['damaged write-ahead log', '.seg', 'at byte'],
  },
  {
    what: 'bit flip in a rewritten segment',
    make: (d) =>
      flip(
        segmentOf(d, (r) => r.revision > 0),
        200,
      ),
    says: ['damaged write-ahead log', '-r', 'at byte'],
  },
  {
    what: 'bit flip in the footer of a segment',
    make: (d) => {
      const path = segmentOf(d, (r) => r.state !== 'active');
      flip(path, lstatSync(path).size - 60);
    },
    says: ['footer'],
  },
  {
    what: 'segment missing',
    make: (d) => rmSync(segmentOf(d, (r) => r.state !== 'active')),
    says: ['the file is listed in the manifest but missing'],
  },
  {
    what: 'segment cut short',
    make: (d) => {
      const path = segmentOf(d, (r) => r.state !== 'active');
      truncateSync(path, lstatSync(path).size - 100);
    },
    says: ['damaged write-ahead log', 'footer'],
  },
  {
    what: 'stranger among the segments',
    make: (d) => {
      const path = segmentOf(d, (r) => r.state !== 'active');
      copyFileSync(path, join(d, 'wal', '00000000000000009999.seg'));
    },
    says: ['00000000000000009999.seg', 'is not listed in the manifest'],
    cure: 'Put back the files that belong',
  },
  {
    what: 'bit flip in the active segment below the confirmed mark',
    of: () => cutOff,
    make: (d) => flip(active(d), lstatSync(active(d)).size - 20),
    says: ['record checksum mismatch', 'were synced'],
  },
  {
    what: 'active segment cut below the confirmed mark',
    of: () => cutOff,
    make: (d) => truncateSync(active(d), lstatSync(active(d)).size - 10),
    says: ['were synced'],
  },
  {
    what: 'manifest missing',
    make: (d) => rmSync(join(d, 'wal', 'manifest')),
    says: ['wal/manifest', 'the manifest is missing'],
  },
  {
    what: 'manifest damaged',
    make: (d) => flip(join(d, 'wal', 'manifest')),
    says: ['wal/manifest'],
  },
  {
    what: 'identity missing',
    make: (d) => rmSync(join(d, 'identity')),
    says: ['identity', 'missing'],
    cure: 'Put back the files that belong',
  },
  {
    what: 'bit flip in a table of the store',
    make: (d) => flip(tableOf(d), 100),
    says: ['store damaged', '.ldb', 'block checksum mismatch'],
  },
  {
    what: 'table of the store missing',
    make: (d) => rmSync(tableOf(d)),
    says: ['a table the manifest names is missing'],
  },
  {
    what: 'checkpoint record damaged',
    make: (d) => writeFileSync(join(d, 'checkpoint'), Buffer.alloc(8192)),
    says: ['both slots of the checkpoint record are damaged'],
  },
  {
    what: 'store gone while the log was purged',
    make: (d) => rmSync(join(d, 'store'), { recursive: true }),
    says: ['Cannot re-apply logs', 'store is gone'],
  },
  {
    what: 'a log that ends before the store',
    make: (d) => {
      for (const name of ['wal', 'identity']) rmSync(join(d, name), { recursive: true });
      for (const name of ['wal', 'identity']) {
        cpSync(join(cutOff, name), join(d, name), { recursive: true });
      }
      // As if it had been put back from an earlier copy.
      rmSync(join(d, 'wal', 'synced'));
      truncateSync(active(d), lstatSync(active(d)).size - 10);
    },
    says: ['acknowledged records are missing'],
  },
  {
    what: 'a dead letter whose segment the manifest forgot',
    make: forgetRetired,
    says: ['dead letter', 'which the log does not hold'],
  },
  {
    what: 'messages whose segment the manifest forgot',
    make: forgetRetired,
    says: ['message 0 of partition', 'which the log does not hold'],
  },
  {
    what: 'a timer row of a later layout',
    make: (d) => writeRow(d, Uint8Array.of(0x28, 1, 2, 3), Uint8Array.of(9)),
    says: ['store damaged', 'keyspace 40, key 28010203', 'version 9'],
  },
  {
    what: 'a queue row of a later layout',
    make: (d) => writeRow(d, Uint8Array.of(0x03, 0, 0, 0, 99), Uint8Array.of(99)),
    says: ['queue row', 'version 99'],
  },
  {
    what: 'run of the id index damaged',
    make: (d) => writeFileSync(join(d, 'ids', '0000000001-0000000001.run'), Buffer.alloc(8192)),
    says: ['damaged id index', 'the trailer does not match'],
    cure: 'delete the file',
  },
  {
    what: 'note of an apply failure damaged',
    make: (d) => writeFileSync(join(d, 'apply_failure.json'), 'garbage'),
    says: ['apply_failure.json'],
  },
  {
    what: 'marker of a waiting snapshot damaged',
    make: (d) => writeFileSync(join(d, 'snapshot.pending'), 'garbage'),
    says: ['snapshot.pending'],
  },
  {
    what: 'waiting snapshot damaged',
    make: (d) => {
      makePending(d);
      flip(join(d, 'snapshots', 'recv-7', 'rows'));
    },
    says: ['snapshots/recv-7/rows', 'checksum mismatch'],
  },
  {
    what: 'bit flip in the rows of a backup',
    of: () => backup,
    make: (d) => flip(join(d, 'rows')),
    says: ['damaged record at byte', 'rows', 'checksum mismatch'],
    cure: 'Make another backup',
  },
  {
    what: 'bit flip in a segment of a backup',
    of: () => backup,
    make: (d) => flip(join(d, 'wal', readdirSync(join(d, 'wal')).sort()[0]!)),
    says: ['damaged write-ahead log', '.seg', 'at byte'],
    cure: 'Make another backup',
  },
  {
    what: 'segment of a backup missing',
    of: () => backup,
    make: (d) => rmSync(join(d, 'wal', readdirSync(join(d, 'wal')).sort()[0]!)),
    says: ['no such file', '.seg'],
    cure: 'Make another backup',
  },
];

it.each(DAMAGES.map((damage) => [damage.what, damage] as const))('%s', async (_, damage) => {
  const directory = copyOf(damage.of?.() ?? stopped);
  await damage.make(directory);
  const report = await verified(directory);
  expect(report.isSound).toBe(false);
  const lines = damagesOf(report);
  const named = lines.filter((line) => damage.says.every((part) => line.includes(part)));
  if (named.length === 0) throw new Error(`not named: ${JSON.stringify(lines, null, 1)}`);
  expect(named[0]).toContain(damage.cure ?? REPLACE);
  expect(lines.join('\n')).not.toContain('queen-verify-');
  rmSync(directory, { recursive: true });
});

it('tells all damage at once, and which entries it hits', async () => {
  const directory = copyOf(stopped);
  flip(segmentOf(directory, (r) => r.state === 'retired'));
  flip(tableOf(directory), 100);
  const report = await verified(directory);
  expect(damagesOf(report).length).toBeGreaterThanOrEqual(2);
  const texts = report.groups[0]!.findings.map(({ text }) => text).join('\n');
  expect(texts).toMatch(/\d+ of \d+ entries of .*\.seg do not verify|all \d+ entries/);
});

it.each<[string, (directory: string) => void, RegExp]>([
  ['a torn batch at the end', (d) => appendFileSync(active(d), 'torn'), /never confirmed .*cuts/],
  [
    'leftovers of a manifest',
    (d) => writeFileSync(join(d, 'wal', 'manifest.tmp'), 'x'),
    /manifest\.tmp is left over/,
  ],
  ['a waiting snapshot', makePending, /a received snapshot waits in .*recv-7/],
  [
    'a pending repair',
    (d) => writeFileSync(join(d, 'repair.pending'), 'x\n'),
    /repair\.pending: the log met damage/,
  ],
])('%s is no damage, and told', async (_, make, told) => {
  const directory = copyOf(cutOff);
  make(directory);
  const report = await verified(directory);
  expect(damagesOf(report)).toEqual([]);
  expect(report.groups[0]!.findings.map(({ text }) => text).join('\n')).toMatch(told);
});

it('finds a backup sound, with the digest of its moment', async () => {
  const report = await verified(backup);
  expect(damagesOf(report)).toEqual([]);
  expect(report).toMatchObject({ kind: 'backup', isSound: true, groups: [{ findings: [] }] });
  const [group] = report.groups;
  expect(group!.end).toEqual(group!.checkpoint);
  expect(group!.read).toMatchObject({ deadLetters: 1, timers: 2 });
});
