/** Leadership transfer: the way, the refusals meanwhile, and every way it ends. */
import { nodeId } from '../../common/ids.js';
import {
  Bench,
  bytes,
  change,
  heartbeat,
  ofKind,
  timeoutNow,
} from '../../../test/sim/core/bench.js';
import { Network } from '../../../test/sim/core/network.js';

const two = nodeId(2);
const three = nodeId(3);

function settled(count = 3, setup: Parameters<typeof Network.of>[1] = {}): Network {
  const network = Network.of(count, setup);
  network.elect(1);
  return network;
}

describe('a transfer', () => {
  it.each([{}, { preVote: true, checkQuorum: true }])(
    'to a caught-up voter succeeds, %j',
    (setup) => {
      const network = settled(3, setup);
      expect(network.at(1).core.transferLeadership(two)).toBe('started');
      network.settle();
      expect(network.roles()).toEqual(['follower', 'leader', 'follower']);
      // A forced election skips the pre-vote and the lease.
      const asked = ofKind(network.delivered, 'vote-request').filter((m) => m.from === two);
      expect(asked.map((m) => [m.preVote, m.transfer])).toEqual([
        [false, true],
        [false, true],
      ]);
    },
  );

  it('to a lagging voter brings it up to date first', () => {
    const network = settled();
    network.isolate(3);
    network.at(1).core.propose(bytes('a'));
    network.settle();
    network.recover();
    network.at(1).core.transferLeadership(three);
    expect(ofKind(network.at(1).core.takeReady().messages, 'timeout-now')).toEqual([]);
    // The lost append is repeated after a heartbeat.
    network.at(1).core.tick();
    network.settle();
    expect(network.roles()[2]).toBe('leader');
    expect(network.at(3).state.log.committed).toBe(3);
  });

  it('waits for what the target has flushed, not for what it was sent', () => {
    const bench = new Bench().lead(2);
    bench.ackAll(2);
    bench.core.propose(bytes('a'));
    bench.flush();
    bench.core.transferLeadership(two);
    expect(ofKind(bench.flush(), 'timeout-now')).toEqual([]);
    expect(ofKind(bench.ackAll(2), 'timeout-now')).toHaveLength(1);
  });

  it('asked of a follower is passed on to the leader', () => {
    const network = settled();
    expect(network.at(3).core.transferLeadership(three)).toBe('forwarded');
    network.settle();
    expect(network.roles()).toEqual(['follower', 'follower', 'leader']);
  });

  it.each([
    ['itself', 1],
    ['a learner', 4],
    ['a stranger', 9],
  ])('to %s is ignored', (_name, target) => {
    const bench = new Bench({ learners: [4] }).lead(2);
    expect(bench.core.transferLeadership(nodeId(target))).toBe('ignored');
    expect([bench.state.role, bench.state.transferee]).toEqual(['leader', 0]);
  });

  it('a node that is not electable ignores the order', () => {
    const learner = new Bench({ voters: [2, 3], learners: [1] });
    expect(learner.core.step(timeoutNow(learner, { from: 2, at: 1 }))).toBe('dropped');
  });

  it('the old leader follows and does not win its own transfer', () => {
    const network = settled();
    network.at(1).core.transferLeadership(two);
    network.settle();
    expect([network.at(1).state.role, network.at(1).state.vote]).toEqual(['follower', 2]);
    expect(network.at(1).state.electionElapsed).toBe(0);
  });
});

describe('meanwhile', () => {
  function running(): Bench {
    const bench = new Bench().lead(2, 3);
    bench.ackAll(2);
    bench.core.propose(bytes('a'));
    bench.flush();
    bench.core.transferLeadership(three);
    return bench;
  }

  it('proposals, changes and reads are refused with the reason', () => {
    const bench = running();
    const refusal = { outcome: 'refused', reason: 'transferring' };
    expect(bench.core.propose(bytes('b'))).toEqual(refusal);
    expect(bench.core.proposeChange(change('v4'))).toEqual(refusal);
    expect(bench.core.readIndex(1)).toBe('transferring');
    expect(bench.state.log.lastIndex()).toBe(2);
  });

  it('what was proposed before still commits', () => {
    const bench = running();
    bench.ackAll(2);
    expect(bench.state.log.committed).toBe(2);
  });

  it('the same target again changes nothing, another one replaces it', () => {
    const bench = running();
    bench.ticks(5);
    expect(bench.core.transferLeadership(three)).toBe('running');
    expect(bench.state.electionElapsed).toBe(5);
    expect(bench.core.transferLeadership(two)).toBe('started');
    expect([bench.state.transferee, bench.state.electionElapsed]).toEqual([2, 0]);
  });

  it('asked again, a target that has everything is told again', () => {
    const bench = new Bench().lead(2, 3);
    bench.ackAll(2);
    bench.core.transferLeadership(two);
    expect(ofKind(bench.flush(), 'timeout-now')).toHaveLength(1);
    bench.ticks(5);
    expect(bench.core.transferLeadership(two)).toBe('running');
    expect(ofKind(bench.flush(), 'timeout-now')).toHaveLength(1);
    // It buys no time.
    expect(bench.state.electionElapsed).toBe(5);
  });

  it('asked again, a target that lacks something is told nothing', () => {
    const bench = running();
    bench.core.transferLeadership(three);
    expect(ofKind(bench.flush(), 'timeout-now')).toEqual([]);
  });

  it('it ends after one election timeout and proposals flow again', () => {
    const bench = running();
    bench.ticks(9);
    expect(bench.state.transferee).toBe(3);
    bench.core.tick();
    expect([bench.state.transferee, bench.state.role]).toEqual([0, 'leader']);
    expect(bench.core.propose(bytes('b')).outcome).toBe('appended');
  });

  it.each(['r3', 'l3'])('it ends when the target is no voter any more (%s)', (text) => {
    const bench = new Bench().lead(2, 3);
    bench.ackAll(2);
    bench.core.proposeChange(change(text));
    bench.flush();
    bench.core.transferLeadership(three);
    bench.ackAll(2);
    expect(bench.state.transferee).toBe(0);
  });

  it('it ends with the leadership', () => {
    const bench = running();
    bench.core.step(heartbeat(bench, { from: 2, at: 7 }));
    expect([bench.state.role, bench.state.transferee, bench.state.term]).toEqual([
      'follower',
      0,
      7,
    ]);
  });
});
