/** When a leader nobody answers asks another voter to take over (cluster.md §1.7). */
import { nodeId, type NodeId } from '../../../common/ids.js';
import type { CoreStatus } from '../../core/index.js';
import { Caretaker, type CaretakerPort } from './caretaker.js';

const TICK_MS = 100;
const AFTER_MS = 1_000;
const [SELF, NEAR, FAR] = [nodeId(1), nodeId(2), nodeId(3)];

class Stage {
  nowMs = 50_000;
  silentMs = 0;
  term = 7;
  leads = true;
  readonly handed: NodeId[] = [];
  readonly caretaker: Caretaker;

  constructor() {
    const stage = this;
    const status = {
      id: SELF,
      config: { voters: [SELF, NEAR, FAR] },
      peers: [
        { id: NEAR, match: 9, ticksSinceContact: 5 },
        { id: FAR, match: 12, ticksSinceContact: 30 },
      ],
    } as unknown as CoreStatus;
    this.caretaker = new Caretaker({
      role: {
        get leads() {
          return stage.leads;
        },
        get term() {
          return stage.term;
        },
        established: false,
      },
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
      nowMs: () => this.nowMs,
      tickMs: TICK_MS,
      handOverAfterMs: AFTER_MS,
      unheardMs: () => this.silentMs,
      loop: () => ({
        status: () => status,
        transferLeadership: (to: NodeId) => {
          this.handed.push(to);
          return 'started';
        },
      }),
    } as unknown as CaretakerPort);
    this.caretaker.tick();
  }

  after(ms: number, silentMs: number): this {
    this.nowMs += ms;
    this.silentMs = silentMs;
    this.caretaker.tick();
    return this;
  }
}

it.each([
  ['heard', 3_000, 999, 0],
  ['silent', 3_000, 1_000, 1],
  ['silent while the leader is new', 2_999, 2_900, 0],
])('a majority that is %s', (_what, ledMs, silentMs, asked) => {
  expect(new Stage().after(ledMs, silentMs).handed).toHaveLength(asked);
});

it('asks the voter heard last, again after a period', () => {
  const stage = new Stage().after(3_000, 1_000).after(999, 2_000);
  expect(stage.handed).toEqual([NEAR]);
  expect(stage.after(1, 2_000).handed).toEqual([NEAR, NEAR]);
});

it('is new again with every term, and asks nobody when it does not lead', () => {
  const stage = new Stage().after(3_000, 0);
  stage.term = 8;
  expect(stage.after(0, 5_000).after(2_999, 5_000).handed).toEqual([]);
  expect(stage.after(1, 5_000).handed).toEqual([NEAR]);
  stage.leads = false;
  expect(stage.after(10_000, 5_000).handed).toHaveLength(1);
});
