/** Who takes partitions: silence, stale views, leader changes, admission, leaving; and what was lost. */
import type { NodeId } from '../../common/ids.js';
import type { MembersView } from '../../raft/index.js';
import { MemberWatch } from './member-watch.js';

const TTL_MS = 4000;
const ONE = 1 as NodeId;
const [TWO, THREE] = [2, 3] as NodeId[] as [NodeId, NodeId];
const report = (epoch: string, rings = 2) => ({ epoch, rings, messages: rings * 10 });

function view(leader: number, acks: Record<number, number | null>, ageMs = 0): MembersView {
  return {
    leader: leader as NodeId,
    ageMs,
    members: Object.entries(acks).map(([id, lastAckMs]) => ({
      ...{ nodeId: Number(id) as NodeId, voter: true, lastAckMs, matched: null },
    })),
  };
}

class Scene {
  readonly watch = new MemberWatch(ONE, TTL_MS);
  connected = true;

  look(nowMs: number, seen: MembersView | null) {
    return this.watch.look(seen, nowMs, () => this.connected);
  }

  /** Both others heard and admitted at 1000. */
  static ready(): Scene {
    const scene = new Scene();
    scene.look(1000, view(1, { 1: 0, 2: 10, 3: 10 }));
    for (const id of [TWO, THREE]) scene.watch.ready(id, report(`e${id}`), 1000);
    return scene;
  }
}

it('a member owns only once its probe was answered', () => {
  const scene = new Scene();
  expect([scene.watch.live(), scene.watch.owners(0)]).toEqual([[], []]);
  scene.look(1000, view(1, { 1: 0, 2: 10, 3: null }));
  expect([scene.watch.live(), scene.watch.owners(1000)]).toEqual([[2], []]);
  scene.watch.ready(TWO, report('e'), 1000);
  expect(scene.watch.owners(1000)).toEqual([2]);
  scene.watch.notReady(TWO);
  expect(scene.watch.owners(1000)).toEqual([]);
});

it.each([
  ['heard within the ttl', 5000, view(1, { 1: 0, 2: 3000, 3: 10 }), [2, 3], 0],
  ['silent beyond the ttl', 6000, view(1, { 1: 0, 2: 4500, 3: 10 }), [3], 2],
  ['the view ages too', 6000, view(3, { 1: 0, 2: 3000, 3: 0 }, 1600), [3], 2],
  ['a stale view judges nobody', 20_000, view(3, { 1: 0, 2: 9000, 3: 0 }, 5000), [2, 3], 0],
  ['no view judges nobody', 20_000, null, [2, 3], 0],
  ['who is no member any more is forgotten', 1500, view(1, { 1: 0, 3: 10 }), [3], 2],
])('%s', (_, nowMs, seen, owners, lostRings) => {
  const scene = Scene.ready();
  const losses = scene.look(nowMs, seen);
  expect(scene.watch.owners(nowMs)).toEqual(owners);
  expect(losses.reduce((sum, { rings }) => sum + rings, 0)).toBe(lostRings);
});

it('a new leader does not bring a dead member back', () => {
  const scene = Scene.ready();
  scene.connected = false;
  // Elected at 3000: it counts the dead node 2 as heard then.
  for (const now of [3200, 3500, 4000, 4900])
    scene.look(now, view(3, { 1: 0, 2: now - 3000, 3: 0 }));
  expect(scene.watch.owners(4900)).toEqual([2, 3]);
  expect(scene.look(5000, view(3, { 1: 0, 2: 2000, 3: 0 }))).toEqual([
    { node: 2, rings: 2, messages: 20 },
  ]);
  expect(scene.watch.owners(5000)).toEqual([3]);
});

it('a member that only this node cannot reach stays, as long as the leader hears it', () => {
  const scene = Scene.ready();
  scene.connected = false;
  for (let now = 1000; now <= 20_000; now += 250) scene.look(now, view(3, { 1: 0, 2: 20, 3: 0 }));
  expect(scene.watch.owners(20_000)).toEqual([2, 3]);
});

it('who leaves stays out for 30 s or until it is a new process; nothing of it is lost', () => {
  const scene = Scene.ready();
  scene.watch.leaving(TWO, 'e2', 1000);
  expect(scene.watch.owners(1000)).toEqual([3]);
  expect(scene.watch.ready(TWO, report('e2', 0), 1000)).toEqual([]);
  expect(scene.watch.owners(30_999)).toEqual([3]);
  expect(scene.watch.owners(31_000)).toEqual([2, 3]);
  expect(scene.watch.ready(TWO, report('e2-again'), 1000)).toEqual([]);
  expect(scene.watch.owners(1000)).toEqual([2, 3]);
});

it.each([
  ['restarted without leaving', true, 'new', [{ node: 2, rings: 2, messages: 20 }]],
  ['was busy', true, 'e2', []],
  ['restarted unnoticed', false, 'new', [{ node: 2, rings: 2, messages: 20 }]],
])('a member that %s', (_, notices, epoch, losses) => {
  const scene = Scene.ready();
  if (notices) scene.watch.notReady(TWO);
  expect(scene.watch.ready(TWO, report(epoch), 1000)).toEqual(losses);
  expect(scene.watch.owners(1000)).toEqual([2, 3]);
});

describe('a member is silent', () => {
  const heard = (scene: Scene, nowMs: number): void => {
    scene.look(nowMs, view(1, { 1: 0, 2: 10, 3: 10 }));
  };

  it.each([
    ['after 30 s without an answer', 31_000, false],
    ['and a moment more', 31_001, true],
  ])('%s', (_, nowMs, isSilent) => {
    const scene = Scene.ready();
    heard(scene, nowMs);
    expect(scene.watch.silent(nowMs)).toEqual(isSilent ? [2, 3] : []);
  });

  it('only while the leader hears it, not while it leaves, and not once it answers', () => {
    const scene = Scene.ready();
    scene.look(32_000, view(1, { 1: 0, 2: 10, 3: 9000 }));
    expect(scene.watch.silent(32_000)).toEqual([2]);
    scene.watch.leaving(TWO, 'e2', 32_000);
    expect(scene.watch.silent(32_000)).toEqual([]);
    expect(scene.watch.silent(62_001)).toEqual([2]);
    scene.watch.ready(TWO, report('e3'), 62_001);
    expect(scene.watch.silent(62_001)).toEqual([]);
  });

  it('counted from when the leader heard it, when it never answered', () => {
    const scene = new Scene();
    heard(scene, 50_000);
    heard(scene, 80_000);
    expect(scene.watch.silent(80_000)).toEqual([]);
    heard(scene, 80_001);
    expect(scene.watch.silent(80_001)).toEqual([2, 3]);
  });
});
