/**
 * Every row of the damage matrix (cluster.md §2.5) on a single node, whose only help is to refuse: a real
 * process on a damaged directory refuses with file and cure, serves everything, or stops at the read that
 * meets the damage. Members rebuild segments: repair.spec.ts. All rows and findings with their tests:
 * test/cluster/operations/damage-rows.md.
 */
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { DamageScene } from './operations/damage-scene.js';

jest.setTimeout(480_000);

const MESSAGES = 110;
const WITHIN_MS = 60_000;

let scene: DamageScene;

type Damage = () => Promise<void> | void;

/** A half-written file is what it was before: each row begins with the whole directory. */
async function damaged(damage: Damage): Promise<void> {
  await scene.restore();
  await damage();
}

async function first(state: 'active' | 'sealed' | 'retired'): Promise<string> {
  const [path] = await scene.segments(state);
  if (path === undefined) throw new Error(`there is no ${state} segment`);
  return path;
}

describe('a log that was never purged, its checkpoint near its end', () => {
  beforeAll(async () => {
    scene = await DamageScene.make({ QUEEN_RAFT_DURABLE_EVERY_MS: '100' }, async (made) => {
      await made.messages.push(1, 40);
      await made.kill();
      cpSync(made.path('wal'), join(made.cluster.directory, 'wal-old'), { recursive: true });
      made.start();
      await made.cluster.ready(1);
      await made.messages.push(1, MESSAGES - 40);
      await made.cluster.stop(1);
    });
  });
  afterAll(() => scene.cluster.remove());

  const REFUSED: readonly (readonly [string, Damage, RegExp])[] = [
    [
      'bit flip in the active log file, followed by a verified durable record',
      async () => scene.messages.flip(await first('active'), 0.05),
      /damaged write-ahead log: \S+\.seg: .*bytes up to \d+ were synced/,
    ],
    [
      'active file truncated below the durable record',
      async () => truncateSync(await first('active'), 60_000),
      /damaged write-ahead log: \S+\.seg: /,
    ],
    [
      'queue logs end before the durable tail of the store',
      () => {
        rmSync(scene.path('wal'), { recursive: true });
        cpSync(join(scene.cluster.directory, 'wal-old'), scene.path('wal'), { recursive: true });
      },
      /acknowledged records are missing: the raft log ends at index \d+, the store was written up to \d+/,
    ],
    [
      'copies of one entry disagree across logs (one log here: two of its files exchanged)',
      async () => {
        const [one = '', two = ''] = await scene.segments('sealed');
        copyFileSync(one, `${one}.other`);
        copyFileSync(two, one);
        copyFileSync(`${one}.other`, two);
        rmSync(`${one}.other`);
      },
      /damaged write-ahead log: \S+\.seg: /,
    ],
    [
      'sealed log file deleted (F4)',
      async () => rmSync(await first('sealed')),
      /\.seg: the file is listed in the manifest but missing/,
    ],
    [
      'store bit flip (F5)',
      () => scene.messages.flip(scene.largest('store', /\.(ldb|log)$/)),
      /store damaged: \S+store\/\S+ at byte \d+/,
    ],
    [
      'store truncated',
      () => truncateSync(scene.largest('store', /\.(ldb|log)$/), 20),
      /store damaged: \S+store\/\S+/,
    ],
    ['state of the log: garbage', () => scene.garbage('wal/manifest'), /wal\/manifest: /],
    [
      'state of the log: missing (F7)',
      () => rmSync(scene.path('wal/manifest')),
      /wal\/manifest: the manifest is missing/,
    ],
    [
      'how far the log is synced: garbage (the cure: move it away)',
      () => scene.garbage('wal/synced'),
      /wal\/synced: .* move this file away/,
    ],
    ['identity: garbage', () => scene.garbage('identity'), /\/identity: /],
    [
      'identity: missing (F7)',
      () => rmSync(scene.path('identity')),
      /has no file identity and is not empty \(.*it has lost that file/,
    ],
    ['snapshot.pending: garbage', () => scene.garbage('snapshot.pending'), /\/snapshot\.pending: /],
    ['raft-groups: garbage', () => scene.garbage('raft-groups'), /\/raft-groups: /],
    ['checkpoint: garbage', () => scene.garbage('checkpoint'), /store damaged: \S+\/checkpoint/],
    [
      'checkpoint: missing',
      () => rmSync(scene.path('checkpoint')),
      /store damaged: \S+\/(checkpoint|store)/,
    ],
  ];

  it.each(REFUSED)('%s: refused', async (_, damage, text) => {
    await damaged(damage);
    await scene.expectRefused(text);
  });

  it('store deleted, log never purged: made anew from the log, everything recognised', async () => {
    await damaged(() => rmSync(scene.path('store'), { recursive: true }));
    await scene.expectServed();
    expect(scene.log).toContain('store/ is gone; the state is made anew from the log');
    const repeated = [{ queue: 'q', partition: 'p', transactionId: 't-7', payload: 'again' }];
    const response = await fetch(`${scene.cluster.url(1)}/api/v1/push`, {
      method: 'POST',
      body: JSON.stringify({ items: repeated }),
    });
    expect(await response.json()).toMatchObject([{ status: 'duplicate' }]);
    // And so is what it wrote: the next start needs no help.
    await scene.kill();
    await scene.expectServed();
    expect(scene.log).not.toContain('made anew');
  });

  const TOLERATED: readonly (readonly [string, Damage])[] = [
    ['nothing', () => undefined],
    ['how far the log is synced: missing', () => rmSync(scene.path('wal/synced'))],
    [
      'analytics: garbage',
      () => {
        mkdirSync(scene.path('analytics'), { recursive: true });
        scene.garbage('analytics/2026-01-01');
        scene.garbage('analytics/garbage');
      },
    ],
    ['repair.pending: garbage', () => scene.garbage('repair.pending')],
    ['lock: garbage', () => scene.garbage('lock/CURRENT')],
    ['ids: deleted', () => rmSync(scene.path('ids'), { recursive: true, force: true })],
    [
      'leftovers of snapshots',
      () => {
        mkdirSync(scene.path('snapshots/recv-7/wal'), { recursive: true });
        scene.garbage('snapshots/recv-7/rows');
        scene.garbage('snapshots/leftover');
      },
    ],
    ['a foreign file', () => scene.garbage('notes.txt')],
  ];

  it.each(TOLERATED)('%s: tolerated', async (_, damage) => {
    await damaged(damage);
    await scene.expectServed();
  });
});

it('bit flip in a sealed file read at boot: refused, names file and byte', async () => {
  // No checkpoint: the start reads all of the log.
  const late = {
    QUEEN_RAFT_DURABLE_EVERY_MS: '3600000',
    QUEEN_RAFT_DURABLE_EVERY_BYTES: '1000000000',
  };
  scene = await DamageScene.make(late, (made) => made.messages.push(1, MESSAGES));
  try {
    await damaged(async () => scene.messages.flip(await first('sealed')));
    await scene.expectRefused(/\S+\.seg: record checksum mismatch \(at byte \d+\)/);
    await damaged(() => undefined);
    await scene.expectServed();
  } finally {
    await scene.cluster.remove();
  }
});

describe('a purged log', () => {
  beforeAll(async () => {
    const env = { QUEEN_RAFT_DURABLE_EVERY_MS: '100', QUEEN_RAFT_LOG_KEEP: '20' };
    scene = await DamageScene.make(env, async (made) => {
      await made.messages.push(1, 2 * MESSAGES);
      await made.cluster.until(async () => (await made.segments('retired')).length > 1, {
        withinMs: WITHIN_MS,
        what: 'retired segments',
      });
    });
  });
  afterAll(() => scene.cluster.remove());

  it('store deleted, log purged: refused, names the purge index', async () => {
    await damaged(() => rmSync(scene.path('store'), { recursive: true }));
    await scene.expectRefused(/Cannot re-apply logs: \S+store is gone .* purged up to index \d+/);
  });

  it('store and checkpoint deleted, log purged: refused', async () => {
    await damaged(() => {
      rmSync(scene.path('store'), { recursive: true });
      rmSync(scene.path('checkpoint'));
    });
    await scene.expectRefused(/Cannot re-apply logs: .* purged up to index \d+/);
  });

  it('retired log file deleted (F4): refused', async () => {
    await damaged(async () => rmSync(await first('retired')));
    await scene.expectRefused(/\.seg: the file is listed in the manifest but missing/);
  });

  it('bit flip in an old sealed file not read at boot (F3): stops at the read', async () => {
    await damaged(async () => scene.messages.flip(await first('retired')));
    await scene.expectStoppedByRead(/damaged record at byte|record checksum|checksum mismatch/);
    // And again after a restart: it never serves around it.
    await scene.kill();
    await scene.expectStoppedByRead(/damaged record at byte|record checksum|checksum mismatch/);
  });

  it('F3: a pop that commits on delivery takes nothing that it did not deliver', async () => {
    let flipped = '';
    await damaged(async () => {
      flipped = await first('retired');
      scene.messages.flip(flipped);
    });
    scene.start();
    await scene.cluster.ready(1);
    const before = await takeAll();
    expect(before.status).not.toBe(204);
    await scene.messages.expectStopped(1);
    await scene.kill();
    // The bit flips back: as from a backup of the file.
    scene.messages.flip(flipped);
    scene.start();
    await scene.cluster.ready(1);
    const after = await takeAll();
    expect(after.status).toBe(204);
    const seen = new Set([...before.numbers, ...after.numbers]);
    expect([...seen].sort((a, b) => a - b)).toEqual(
      Array.from({ length: 2 * MESSAGES }, (_, number) => number),
    );
  });

  /** Pops with commitOnDelivery as one group, until there is nothing more or it does not answer 200. */
  async function takeAll(): Promise<{ readonly status: number; readonly numbers: number[] }> {
    const numbers: number[] = [];
    const url =
      `${scene.cluster.url(1)}/api/v1/pop/queue/q/partition/p?consumerGroup=g&batch=7` +
      '&commitOnDelivery=true&subscriptionMode=all&wait=false&timeout=20000';
    for (;;) {
      const response = await fetch(url);
      const text = await response.text();
      if (response.status !== 200) return { status: response.status, numbers };
      const { messages } = JSON.parse(text) as { messages: { data: { number: number } }[] };
      numbers.push(...messages.map(({ data }) => data.number));
    }
  }
});

it('layout file deleted (F6): refused, nothing is served from a wrong layout', async () => {
  scene = await DamageScene.make({}, (made) => made.messages.push(1, 3), 2);
  try {
    await damaged(() => rmSync(scene.path('raft-groups')));
    await scene.expectRefused(/raft-groups is missing/);
    await damaged(() => undefined);
    expect(readFileSync(scene.path('raft-groups'), 'utf8')).toContain('2');
    scene.cluster.node(1).setEnv({ QUEEN_RAFT_GROUPS: '1' });
    await scene.expectRefused(/holds 2 raft groups and QUEEN_RAFT_GROUPS is 1/);
    scene.cluster.node(1).setEnv({ QUEEN_RAFT_GROUPS: '2' });
    await scene.expectServed();
  } finally {
    await scene.cluster.remove();
  }
});
