/** A change of leader: whom a stopping leader asks, and what a new one does before it serves. */
import { logIndex, nodeId, term, type NodeId } from '../../../common/ids.js';
import type { CoreStatus } from '../../core/index.js';
import { LogClock } from '../log-clock.js';
import { EntryPacker } from './entry-packer.js';
import { HandOff } from './hand-off.js';

const SELF = nodeId(1);
const TWO = nodeId(2);
const THREE = nodeId(3);
const TICK_MS = 100;

interface Peer {
  readonly id: NodeId;
  readonly match: number;
  readonly ticksSinceContact: number;
}

const peer = (id: NodeId, match = 10, ticksSinceContact = 0): Peer => ({
  ...{ id, match, ticksSinceContact },
});

/** The clock moves with every look at it; `answer` is called for every order given. */
function handOffWith(
  peers: () => readonly Peer[],
  takesOver: (asked: readonly NodeId[], nowMs: number) => NodeId | 0,
) {
  const asked: NodeId[] = [];
  const logged: string[] = [];
  let nowMs = 0;
  let leader: number = SELF;
  const look = (): void => {
    const next = takesOver(asked, nowMs);
    if (next !== 0) leader = next;
  };
  const handOff = new HandOff({
    loop: {
      status: () =>
        ({
          id: SELF,
          config: { voters: [SELF, TWO, THREE] },
          peers: [peer(SELF), ...peers()],
        }) as unknown as CoreStatus,
      transferLeadership: (to: NodeId) => {
        asked.push(to);
        look();
        return 'started';
      },
    },
    log: {
      info: (event: string) => logged.push(event),
      warn: (event: string) => logged.push(event),
      error: (event: string) => logged.push(event),
    },
    nowMs: () => (nowMs += 50),
    self: SELF,
    tickMs: TICK_MS,
    leads: () => leader === SELF,
    leader: () => nodeId(leader),
  });
  return { handOff, asked, logged };
}

describe('a stopping leader', () => {
  it('asks the most caught-up voter', async () => {
    const { handOff, asked, logged } = handOffWith(
      () => [peer(TWO, 9), peer(THREE, 10)],
      (all) => all.at(-1) ?? 0,
    );
    await handOff.run();
    expect(asked).toEqual([THREE]);
    expect(logged).toEqual(['raft: leadership handed off']);
  });

  it('asks again what got lost, and stays with its choice when another one catches up', async () => {
    let looks = 0;
    const { handOff, asked } = handOffWith(
      () => [peer(TWO, 10), peer(THREE, (looks += 1) > 1 ? 11 : 9)],
      (all) => (all.length === 3 ? TWO : 0),
    );
    await handOff.run();
    expect(asked).toEqual([TWO, TWO, TWO]);
  });

  it('passes a voter by that does not take over, while there is another one', async () => {
    const { handOff, asked } = handOffWith(
      () => [peer(TWO), peer(THREE)],
      (all) => (all.includes(THREE) ? THREE : 0),
    );
    await handOff.run();
    expect(new Set(asked)).toEqual(new Set([TWO, THREE]));
    expect(asked.at(-1)).toBe(THREE);
    expect(asked.length).toBeLessThanOrEqual(5);
  });

  it('comes back to the first one when the other is silent', async () => {
    const { handOff, asked, logged } = handOffWith(
      () => [peer(TWO), peer(THREE, 10, 20)],
      (all) => (all.length === 6 ? TWO : 0),
    );
    await handOff.run();
    expect(new Set(asked)).toEqual(new Set([TWO]));
    expect(logged).toEqual(['raft: leadership handed off']);
  });

  it('gives up when nobody takes over, and at once when nobody lives', async () => {
    const stubborn = handOffWith(
      () => [peer(TWO), peer(THREE)],
      () => 0,
    );
    await stubborn.handOff.run();
    expect(stubborn.logged).toEqual(['raft: no other node took leadership over in time']);
    const alone = handOffWith(
      () => [peer(TWO, 10, 20), peer(THREE, 10, 20)],
      () => 0,
    );
    await alone.handOff.run();
    expect(alone.logged).toEqual(['raft: no live voter to hand leadership to']);
  });
});

describe('a new leader that does not serve yet', () => {
  function packerOf() {
    const proposed: Uint8Array[] = [];
    const state = { leads: false };
    const packer = new EntryPacker({
      maxInFlight: 4,
      isQuorumSilent: () => false,
      stampCall: () => undefined,
      propose: (data) => {
        proposed.push(data);
        return { outcome: 'appended', index: logIndex(proposed.length), term: term(1) };
      },
      leads: () => state.leads,
      machineVersion: () => 1,
      term: () => term(1),
    });
    return { packer, proposed, state };
  }
  const clock = (): LogClock => new LogClock({ nowMs: () => 0, monotonicMicros: () => 0 }, 0);
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it('keeps what others send it and proposes it once it serves', async () => {
    const { packer, proposed, state } = packerOf();
    state.leads = true;
    expect(packer.add(new Uint8Array(64), null)).toBe(true);
    await turn();
    expect(proposed).toHaveLength(0);
    packer.open(clock(), logIndex(0));
    await turn();
    expect(proposed).toHaveLength(1);
  });

  it('drops it with the leadership: its senders send it to the next one', async () => {
    const { packer, proposed, state } = packerOf();
    state.leads = true;
    packer.add(new Uint8Array(64), null);
    state.leads = false;
    packer.close();
    packer.open(clock(), logIndex(0));
    await turn();
    expect(proposed).toHaveLength(0);
  });

  it('a follower refuses', () => {
    const { packer } = packerOf();
    expect(packer.isOpen).toBe(false);
    expect(packer.add(new Uint8Array(64), null)).toBe(false);
  });
});
