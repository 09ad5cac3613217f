/** A member that gave up its part to take a snapshot comes back by a restart, whatever becomes of it. */
import { logIndex, nodeId, term } from '../../../common/ids.js';
import { SnapshotDesk, type SnapshotDeskPort } from './snapshot-desk.js';

const OFFER = {
  ...{ from: nodeId(1), leaderTerm: term(3), index: logIndex(100), term: term(2) },
  ...{ clusterVersion: 1, files: [] },
};

function deskOf(commit: () => Promise<void>): { desk: SnapshotDesk; steps: string[] } {
  const steps: string[] = [];
  const staged = {
    ...{ index: OFFER.index, term: OFFER.term, discard: () => Promise.resolve() },
    commit: () => {
      steps.push('commit');
      return commit();
    },
  };
  const port = {
    ...{ self: nodeId(2), kinds: 9, nowMs: () => 0 },
    snapshots: { stage: () => Promise.resolve(staged) },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
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
  return { desk: new SnapshotDesk(port as unknown as SnapshotDeskPort), steps };
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
