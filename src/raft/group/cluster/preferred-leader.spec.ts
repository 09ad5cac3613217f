/** When a group is handed back to its preferred member, rule by rule (cluster.md §1.12). */
import { logIndex, nodeId, type NodeId } from '../../../common/ids.js';
import type { CoreStatus } from '../../core/index.js';
import { LeaveRecord } from './leave-record.js';
import { PreferredLeader } from './preferred-leader.js';

const SELF = nodeId(1);
const WANTED = nodeId(2);
const TICK_MS = 100;

interface Scene {
  readonly preferred?: NodeId;
  readonly established?: boolean;
  readonly voters?: readonly NodeId[];
  readonly outgoing?: readonly NodeId[];
  readonly silentTicks?: number | undefined;
  readonly behind?: number;
}

class Stage {
  nowMs = 1_000_000;
  readonly handed: NodeId[] = [];
  readonly leavers = new LeaveRecord(() => this.nowMs);
  readonly leader: PreferredLeader;

  constructor(private readonly scene: Scene) {
    this.leader = new PreferredLeader({
      self: SELF,
      preferred: scene.preferred ?? WANTED,
      role: { established: scene.established ?? true },
      leavers: this.leavers,
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
      nowMs: () => this.nowMs,
      tickMs: TICK_MS,
      loop: () => ({
        status: () => this.status(),
        transferLeadership: (to) => {
          this.handed.push(to);
          return 'started';
        },
      }),
    });
  }

  after(ms: number): this {
    this.nowMs += ms;
    this.leader.tick();
    return this;
  }

  private status(): CoreStatus {
    const { voters, outgoing, behind } = this.scene;
    const silent = 'silentTicks' in this.scene ? this.scene.silentTicks : 1;
    return {
      config: { voters: voters ?? [SELF, WANTED, nodeId(3)], outgoing: outgoing ?? [] },
      lastIndex: logIndex(1_000),
      peers: [{ id: WANTED, match: logIndex(1_000 - (behind ?? 0)), ticksSinceContact: silent }],
    } as unknown as CoreStatus;
  }
}

it.each<[string, Scene, number]>([
  ['a voter that answers and has everything', {}, 1],
  ['one that is 64 entries behind', { behind: 64 }, 1],
  ['one that is 65 entries behind', { behind: 65 }, 0],
  ['one heard a second ago', { silentTicks: 10 }, 1],
  ['one not heard for longer', { silentTicks: 11 }, 0],
  ['one never heard in this term', { silentTicks: undefined }, 0],
  ['this node itself', { preferred: SELF }, 0],
  ['one that does not vote', { voters: [SELF, nodeId(3)] }, 0],
  ['one while the voters change', { outgoing: [SELF] }, 0],
  ['one before this node serves', { established: false }, 0],
])('%s', (_what, scene, attempts) => {
  expect(new Stage(scene).after(0).handed).toHaveLength(attempts);
});

it('tries once in ten seconds', () => {
  const stage = new Stage({}).after(0).after(9_999);
  expect(stage.handed).toEqual([WANTED]);
  expect(stage.after(1).handed).toEqual([WANTED, WANTED]);
});

it('asks again within the attempt, for half a second', () => {
  const stage = new Stage({}).after(0).after(250).after(249);
  expect(stage.handed).toHaveLength(3);
  expect(stage.after(1).after(250).handed).toHaveLength(3);
});

it('waits a minute for a node that handed leadership over itself', () => {
  const stage = new Stage({});
  stage.leavers.handedOver(WANTED);
  expect(stage.after(59_999).handed).toEqual([]);
  expect(stage.after(1).handed).toEqual([WANTED]);
});
