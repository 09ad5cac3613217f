/**
 * Data of earlier releases (test/golden/README.md): the directory opens with the state it was left in and
 * serves it, and the log alone replays from its first entry to the same digest. Data of a newer release is
 * refused by the gate: test/cluster/rolling-upgrade.spec.ts.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestBroker } from '../support/broker.js';
import { replayedState } from '../support/replayed-state.js';

jest.setTimeout(120_000);

const ROOT = __dirname;

interface Expected {
  readonly index: number;
  readonly digest: string;
  readonly clusterVersion: number;
  readonly orders: number;
  readonly mails: number;
}

const releases = readdirSync(ROOT, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

let work: string;

beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), 'queen-golden-'));
});

afterEach(() => rmSync(work, { recursive: true, force: true }));

function unpack(release: string, file: 'data.tgz' | 'log.tgz'): string {
  const { status } = spawnSync('tar', ['-xzf', join(ROOT, release, file), '-C', work]);
  expect(status).toBe(0);
  return join(work, 'data');
}

function expectedOf(release: string): Expected {
  return JSON.parse(readFileSync(join(ROOT, release, 'expected.json'), 'utf8')) as Expected;
}

async function stateOf(directory: string): Promise<{ index: number; digest: string }> {
  const { index, digest } = await replayedState(directory);
  return { index, digest };
}

it('has data of this release and of an earlier one', () => {
  expect(releases.length).toBeGreaterThan(1);
});

describe.each(releases)('%s', (release) => {
  it('the directory opens in the state it was left in', async () => {
    const { index, digest } = expectedOf(release);
    expect(await stateOf(unpack(release, 'data.tgz'))).toEqual({ index, digest });
  });

  it('the log alone replays to the recorded digest', async () => {
    const { index, digest } = expectedOf(release);
    expect(await stateOf(unpack(release, 'log.tgz'))).toEqual({ index, digest });
  });

  it('is served: every message, keys and positions', async () => {
    const directory = unpack(release, 'data.tgz');
    const { orders, mails } = expectedOf(release);
    const broker = await TestBroker.start({ QUEEN_RAFT_DIR: directory });
    try {
      for (const [queue, count] of [
        ['orders', orders],
        ['mails', mails],
      ] as const) {
        const seen: number[] = [];
        for (;;) {
          const path = `/api/v1/pop/queue/${queue}?consumerGroup=all&batch=100&commitOnDelivery=true`;
          const popped = await broker.get(`${path}&subscriptionMode=all&wait=false`);
          if (popped.status === 204) break;
          expect(popped.status).toBe(200);
          for (const { data } of popped.json.messages) seen.push(data.n);
        }
        expect([...seen].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, n) => n));
      }
      expect((await broker.get('/api/v1/kv/golden/a')).json).toMatchObject({ value: { key: 'a' } });
      expect((await broker.get('/api/v1/kv/golden/b')).json).toMatchObject({ found: false });
    } finally {
      await broker.stop();
    }
  });
});
