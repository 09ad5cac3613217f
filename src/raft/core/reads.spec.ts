/** Linearizable reads: numbered rounds, own-term commit first, forwarding, bounds, term changes. */
import { nodeId, type NodeId } from '../../common/ids.js';
import { Bench, bytes, heartbeat, heartbeatAck, ofKind } from '../../../test/sim/core/bench.js';
import { Network } from '../../../test/sim/core/network.js';
import { ReadQueue } from './read-queue.js';

/** Leader of three that has committed in its term. */
function ready(setup: ConstructorParameters<typeof Bench>[0] = {}): Bench {
  const bench = new Bench(setup).lead(2, 3, 4);
  bench.ackAll(2);
  bench.ackAll(3);
  return bench;
}

function roundsOf(bench: Bench): number[] {
  return ofKind(bench.flush(), 'heartbeat')
    .filter((m) => m.to === nodeId(2))
    .map((m) => m.readRound);
}

describe('a read on the leader', () => {
  it('is answered with the commit index of its arrival after a quorum of a new round', () => {
    const bench = ready();
    expect(bench.core.readIndex(7)).toBe('ok');
    const [round] = roundsOf(bench);
    bench.core.propose(bytes('later'));
    bench.ackAll(2);
    expect(bench.reads).toEqual([]);
    bench.core.step(heartbeatAck(bench, { from: 2, readRound: round ?? 0 }));
    bench.flush();
    expect(bench.reads).toEqual([{ index: 1, context: 7 }]);
  });

  it('a late answer of an earlier round confirms nothing newer', () => {
    const bench = ready();
    bench.core.readIndex(1);
    const [first] = roundsOf(bench);
    bench.core.readIndex(2);
    roundsOf(bench);
    bench.core.step(heartbeatAck(bench, { from: 2, readRound: first ?? 0 }));
    bench.flush();
    expect(bench.reads.map((read) => read.context)).toEqual([1]);
  });

  it('the same context again is a new read in a new round', () => {
    const bench = ready();
    bench.core.readIndex(5);
    const [first] = roundsOf(bench);
    bench.core.step(heartbeatAck(bench, { from: 2, readRound: first ?? 0 }));
    bench.core.readIndex(5);
    bench.core.step(heartbeatAck(bench, { from: 2, readRound: first ?? 0 }));
    bench.flush();
    expect(bench.reads).toHaveLength(1);
  });

  it('an answer confirms every round up to its own', () => {
    const bench = ready();
    for (const context of [1, 2, 3]) bench.core.readIndex(context);
    const rounds = roundsOf(bench);
    bench.core.step(heartbeatAck(bench, { from: 3, readRound: rounds[1] ?? 0 }));
    bench.flush();
    expect(bench.reads.map((read) => read.context)).toEqual([1, 2]);
  });

  it('ordinary answers and rounds of the future confirm nothing', () => {
    const bench = ready();
    bench.core.readIndex(1);
    bench.flush();
    bench.core.step(heartbeatAck(bench, { from: 2 }));
    bench.core.step(heartbeatAck(bench, { from: 2, readRound: 99 }));
    bench.flush();
    expect(bench.reads).toEqual([]);
  });

  it('lost rounds are repeated by the next heartbeat', () => {
    const bench = ready();
    bench.core.readIndex(1);
    const [round] = roundsOf(bench);
    bench.core.tick();
    expect(roundsOf(bench)).toEqual([round]);
  });

  it('learners do not confirm; both halves of a joint membership must', () => {
    const bench = ready({ voters: [1, 2, 3], outgoing: [1, 4, 5], learners: [6] });
    bench.ackAll(4);
    bench.core.readIndex(1);
    const [round] = roundsOf(bench);
    for (const [from, answered] of [
      [6, 0],
      [2, 0],
      [3, 0],
      [4, 1],
    ] as const) {
      bench.core.step(heartbeatAck(bench, { from, readRound: round ?? 0 }));
      bench.flush();
      expect(bench.reads).toHaveLength(answered);
    }
  });

  it('waits for the first commit of the term', () => {
    const bench = new Bench({ terms: [1, 1], hard: { term: 1, commit: 1 } }).lead(2);
    expect(bench.core.readIndex(1)).toBe('ok');
    expect(ofKind(bench.flush(), 'heartbeat')).toEqual([]);
    const beats = ofKind(bench.ackAll(2), 'heartbeat').filter((m) => m.to === nodeId(2));
    expect(beats).toHaveLength(1);
    bench.core.step(heartbeatAck(bench, { from: 2, readRound: beats[0]?.readRound ?? 0 }));
    bench.flush();
    expect(bench.reads).toEqual([{ index: 3, context: 1 }]);
  });

  it('a single voter answers alone, but not before its own entry is committed', () => {
    const bench = new Bench({ voters: [1], terms: [1], hard: { term: 1 } });
    bench.core.campaign();
    const election = bench.core.takeReady();
    bench.finish(election);
    bench.core.readIndex(1);
    expect(bench.core.takeReady().readStates).toEqual([]);
    const other = new Bench({ voters: [1] }).lead();
    other.core.readIndex(2);
    other.flush();
    expect(other.reads).toEqual([{ index: 1, context: 2 }]);
  });

  it('is dropped when the leadership ends', () => {
    const bench = ready();
    bench.core.readIndex(1);
    const [round] = roundsOf(bench);
    bench.core.step(heartbeat(bench, { from: 3, at: 9 }));
    expect(bench.core.status().pendingReads).toBe(0);
    bench.core.step(heartbeatAck(bench, { from: 2, readRound: round ?? 0, at: 1 }));
    bench.flush();
    expect(bench.reads).toEqual([]);
  });

  it('is refused at the bound', () => {
    const bench = ready({ maxPendingReads: 2 });
    expect([1, 2, 3].map((context) => bench.core.readIndex(context))).toEqual([
      ...['ok', 'ok', 'over-limit'],
    ]);
    const early = new Bench({ maxPendingReads: 1 }).lead(2);
    expect([1, 2].map((context) => early.core.readIndex(context))).toEqual(['ok', 'over-limit']);
  });

  it('keeps nothing once it is answered', () => {
    const bench = ready();
    bench.core.readIndex(1);
    const [round] = roundsOf(bench);
    bench.core.step(heartbeatAck(bench, { from: 2, readRound: round ?? 0 }));
    expect(bench.core.status().pendingReads).toBe(0);
    bench.core.tick();
    expect(roundsOf(bench)).toEqual([0]);
  });

  it('in lease mode is answered at once', () => {
    const bench = ready({ readMode: 'lease', checkQuorum: true });
    bench.core.readIndex(1);
    bench.flush();
    expect(bench.reads).toEqual([{ index: 1, context: 1 }]);
    expect(() => new Bench({ readMode: 'lease' })).toThrow('checkQuorum');
  });
});

describe('a read elsewhere', () => {
  it('is answered on followers and learners', () => {
    const benches = [1, 2, 3, 4].map((id) => new Bench({ id, voters: [1, 2, 3], learners: [4] }));
    const network = new Network(benches);
    network.elect(1);
    for (const id of [2, 4]) {
      expect(network.at(id).core.readIndex(id)).toBe('ok');
      network.settle();
      expect(network.at(id).reads).toEqual([{ index: 1, context: id }]);
    }
  });

  it('is refused without a leader', () => {
    expect(new Bench().core.readIndex(1)).toBe('no-leader');
  });

  it('a replaced leader cannot answer it', () => {
    const network = Network.of(3);
    const old = network.elect(1);
    network.isolate(1);
    network.elect(2);
    network.at(2).core.propose(bytes('new'));
    network.settle();
    old.core.readIndex(1);
    network.settle();
    old.core.tick();
    network.settle();
    expect(old.reads).toEqual([]);
    network.recover();
    network.at(2).core.tick();
    network.settle();
    expect([old.reads, old.state.role]).toEqual([[], 'follower']);
  });
});

describe('round numbers', () => {
  it('go on across terms, so an answer of an earlier term cannot match', () => {
    const queue = new ReadQueue(10);
    const quorum = {
      halves: { voters: [1, 2, 3].map(nodeId), outgoing: [] as NodeId[] },
      self: nodeId(1),
    };
    queue.add({ from: nodeId(1), context: 1, index: 1 as never });
    const old = queue.openRound;
    queue.reset();
    queue.add({ from: nodeId(1), context: 2, index: 1 as never });
    expect(queue.openRound).toBeGreaterThan(old);
    expect(queue.acknowledge(nodeId(2), old, quorum)).toEqual([]);
    expect(queue.acknowledge(nodeId(2), queue.openRound, quorum)).toHaveLength(1);
  });
});
