/** A member that gave up its part to take a snapshot comes back by a restart, whatever becomes of it. */
import { logIndex, nodeId, term } from '../../../common/ids.js';
import { SnapshotDesk, type SnapshotDeskPort } from './snapshot-desk.js';

const OFFER = {
  ...{ from: nodeId(1), leaderTerm: term(3), index: logIndex(100), term: term(2) },
  ...{ clusterVersion: 1, files: [] },
};

interface Scene {
  readonly desk: SnapshotDesk;
  readonly steps: string[];
  readonly warned: unknown[];
}

function deskOf(commit: () => Promise<void>, stage?: () => Promise<never>): Scene {
  const steps: string[] = [];
  const warned: unknown[] = [];
  const staged = {
    ...{ index: OFFER.index, term: OFFER.term, discard: () => Promise.resolve() },
    commit: () => {
      steps.push('commit');
      return commit();
    },
  };
  const port = {
    ...{ self: nodeId(2), kinds: 9, nowMs: () => 0 },
    snapshots: { stage: stage ?? (() => Promise.resolve(staged)) },
    log: {
      info: () => undefined,
      warn: (event: string, fields: unknown) => warned.push([event, fields]),
      error: () => undefined,
    },
    loop: () => ({ term: term(3), status: () => ({ commit: logIndex(10) }) }),
    termAt: () => undefined,
    leader: () => nodeId(1),
    takesPart: () => true,
    halt: () => {
      steps.push('halt');
      return Promise.resolve();
    },
    restart: () => steps.push('restart'),
  };
  return { desk: new SnapshotDesk(port as unknown as SnapshotDeskPort), steps, warned };
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  yield* await Promise.resolve([]);
}

it('restarts to load a snapshot', async () => {
  const { desk, steps } = deskOf(() => Promise.resolve());
  expect(await desk.take(OFFER, nothing())).toBe('staged');
  expect(steps).toEqual(['halt', 'commit', 'restart']);
});

it('restarts without the snapshot when it could not be marked', async () => {
  const { desk, steps } = deskOf(() => Promise.reject(new Error('no space left on device')));
  await expect(desk.take(OFFER, nothing())).rejects.toThrow('no space left');
  expect(steps).toEqual(['halt', 'commit', 'restart']);
});

it('tells why a snapshot could not be received, and serves on', async () => {
  const full = (): Promise<never> => Promise.reject(new Error('no space left on device'));
  const { desk, steps, warned } = deskOf(() => Promise.resolve(), full);
  await expect(desk.take(OFFER, nothing())).rejects.toThrow('no space left');
  expect(steps).toEqual([]);
  const fields = { index: 100, from: 1, error: 'Error: no space left on device' };
  expect(warned).toEqual([['raft: a snapshot could not be received', fields]]);
});
