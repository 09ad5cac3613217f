/** Membership through the log: admission, one at a time, effect at apply, automatic leave, removal. */
import { logIndex, nodeId } from '../../common/ids.js';
import {
  Bench,
  bytes,
  change,
  configOf,
  ofKind,
  only,
  snapshot,
} from '../../../test/sim/core/bench.js';
import { Network } from '../../../test/sim/core/network.js';
import { InvariantViolation } from './invariant.js';

/** Leader of a single-voter group: its proposals commit when flushed. */
const alone = (setup: ConstructorParameters<typeof Bench>[0] = {}) =>
  new Bench({ voters: [1], ...setup }).lead();

describe('proposing a change', () => {
  it('takes effect when it is applied, not before', () => {
    const bench = new Bench().lead(2);
    bench.ackAll(2);
    expect(bench.core.proposeChange(change('v4')).outcome).toBe('appended');
    bench.flush();
    expect(bench.state.config.voters).toEqual([1, 2, 3]);
    bench.ackAll(2);
    expect(bench.state.config.voters).toEqual([1, 2, 3, 4]);
  });

  it('a second one is refused while the first is pending, and leaves an empty entry', () => {
    const bench = new Bench().lead(2);
    bench.ackAll(2);
    bench.core.proposeChange(change('v4'));
    expect(bench.core.proposeChange(change('r3'))).toMatchObject({
      outcome: 'replaced',
      reason: 'pending-change',
    });
    bench.ackAll(2);
    bench.ackAll(2);
    expect(bench.state.config.voters).toEqual([1, 2, 3, 4]);
    expect(bench.applied.map((one) => [one.kind, one.data.byteLength > 0])).toEqual([
      ['normal', false],
      ['membership', true],
      ['normal', false],
    ]);
  });

  it('a new leader takes none before its log at election is applied', () => {
    const bench = new Bench({ terms: [1], hard: { term: 1 } }).lead(2);
    expect(bench.core.proposeChange(change('v4'))).toMatchObject({ reason: 'pending-change' });
    bench.ackAll(2);
    expect(bench.core.proposeChange(change('v4')).outcome).toBe('appended');
  });

  it('one that could not be applied is refused beforehand', () => {
    const bench = alone();
    expect(bench.core.proposeChange(change('r1'))).toMatchObject({ reason: 'invalid' });
    bench.flush();
    expect(bench.state.config.voters).toEqual([1]);
  });

  it('joint states are entered and left one at a time', () => {
    const bench = alone();
    expect(bench.core.proposeChange(change(''))).toMatchObject({ reason: 'not-joint' });
    bench.flush();
    bench.core.proposeChange(change('l2', 'explicit'));
    bench.flush();
    expect(bench.state.config).toMatchObject({ outgoing: [1], learners: [2], autoLeave: false });
    expect(bench.core.proposeChange(change('l3'))).toMatchObject({ reason: 'already-joint' });
    bench.flush();
    expect(bench.core.proposeChange(change('')).outcome).toBe('appended');
    bench.flush();
    expect(bench.state.config).toMatchObject({ outgoing: [], learners: [2] });
  });

  it('is not held back by the uncommitted bound when it leaves the joint state', () => {
    const bench = new Bench({ voters: [1, 2], maxUncommittedBytes: 20 }).lead(2);
    bench.ackAll(2);
    bench.core.proposeChange(change('l3', 'explicit'));
    bench.ackAll(2);
    bench.core.propose(bytes('x'.repeat(30)));
    expect(bench.core.propose(bytes('y'))).toMatchObject({ reason: 'over-limit' });
    expect(bench.core.proposeChange(change('')).outcome).toBe('appended');
  });

  it('malformed bytes of a forwarded change become an empty entry', () => {
    const bench = alone();
    const entry = { term: 0, index: 0, kind: 'membership', data: Uint8Array.from([7, 7, 7]) };
    const message = { kind: 'propose', from: 2, to: 1, term: 0, entries: [entry] };
    expect(bench.core.step(message as never)).toBe('ok');
    bench.flush();
    expect(bench.applied.at(-1)).toMatchObject({ kind: 'normal' });
  });
});

describe('effects', () => {
  it('removing a voter commits what the smaller quorum already holds', () => {
    const bench = new Bench({ voters: [1, 2] }).lead(2);
    bench.ackAll(2);
    bench.core.proposeChange(change('r2'));
    bench.core.propose(bytes('waits'));
    bench.flush();
    bench.ackAll(2, 2);
    expect(bench.state.config.voters).toEqual([1]);
    bench.flush();
    expect(bench.state.log.committed).toBe(3);
  });

  it('a new member is probed at once', () => {
    const bench = alone();
    bench.core.proposeChange(change('v2'));
    const [probe] = ofKind(bench.flush(), 'append-request');
    expect([probe?.to, probe?.prevIndex]).toEqual([2, 1]);
  });

  it('progress of a promoted learner is kept', () => {
    const bench = new Bench({ voters: [1], learners: [2] }).lead();
    bench.ackAll(2);
    bench.core.proposeChange(change('v2'));
    bench.flush();
    const peer = bench.core.status().peers.find(({ id }) => id === 2);
    expect(peer).toMatchObject({ state: 'replicate', match: 1, isLearner: false });
  });

  it.each(['r1', 'l1'])('a leader applying its own %s steps down and stays down', (text) => {
    const bench = new Bench().lead(2);
    bench.ackAll(2);
    bench.core.proposeChange(change(text));
    bench.flush();
    bench.ackAll(2);
    bench.ackAll(3);
    expect([bench.state.role, bench.state.leader]).toEqual(['follower', 0]);
    bench.ticks(100);
    expect(bench.state.role).toBe('follower');
    expect(bench.core.propose(bytes('a'))).toEqual({ outcome: 'refused', reason: 'no-leader' });
  });

  it('a removed leader without the step-down option takes no proposals', () => {
    const bench = new Bench({ stepDownOnRemoval: false }).lead(2);
    bench.ackAll(2);
    bench.core.proposeChange(change('r1'));
    bench.flush();
    bench.ackAll(2);
    bench.ackAll(3);
    expect(bench.state.role).toBe('leader');
    expect(bench.core.propose(bytes('a'))).toEqual({ outcome: 'refused', reason: 'removed' });
  });

  it('an entry overtaken by a snapshot is not applied again (D2)', () => {
    const bench = new Bench({ voters: [1, 2], asyncStorage: true });
    const config = configOf({ voters: [1, 2, 3] });
    bench.core.step(snapshot(bench, { from: 2, at: 1, point: [9, 1], config }));
    const kept = bench.core.applyConfigChange(change('r2'), logIndex(4));
    expect(kept.voters).toEqual([1, 2, 3]);
    bench.flush();
    expect(bench.core.applyConfigChange(change('r2'), logIndex(10)).voters).toEqual([1, 3]);
  });

  it('an entry that cannot be applied stops the node with the state', () => {
    const bench = alone();
    try {
      bench.core.applyConfigChange(change('r1'), logIndex(5));
      throw new Error('applied');
    } catch (error) {
      expect(error).toBeInstanceOf(InvariantViolation);
      expect((error as InvariantViolation).dump).toMatchObject({ id: 1, role: 'leader', index: 5 });
    }
  });
});

describe('automatic leave', () => {
  it('is proposed once, sent at once, and ends the joint state', () => {
    const bench = new Bench().lead(2);
    bench.ackAll(2);
    bench.core.proposeChange(change('l4 l5'));
    bench.flush();
    const after = bench.ackAll(2);
    expect(bench.state.config).toMatchObject({ outgoing: [1, 2, 3], autoLeave: true });
    const leaves = ofKind(after, 'append-request')
      .filter((m) => m.to === 2)
      .flatMap((m) => m.entries)
      .filter((one) => one.kind === 'membership' && one.data.byteLength === 0);
    expect(leaves).toHaveLength(1);
    bench.core.propose(bytes('a'));
    bench.ticks(5);
    bench.flush();
    const inLog = bench.disk.all().filter((one) => one.kind === 'membership');
    expect(inLog).toHaveLength(2);
    bench.ackAll(2);
    expect(bench.state.config).toMatchObject({ outgoing: [], learners: [4, 5] });
  });

  it('is pending like any change: nothing else gets in', () => {
    const bench = new Bench().lead(2);
    bench.ackAll(2);
    bench.core.proposeChange(change('l4 l5'));
    bench.flush();
    bench.ackAll(2);
    expect(bench.core.proposeChange(change(''))).toMatchObject({ reason: 'pending-change' });
  });

  it('refused during a transfer it is repeated in an idle group', () => {
    const bench = new Bench().lead(2, 3);
    bench.ackAll(2);
    bench.core.proposeChange(change('l4 l5'));
    bench.flush();
    bench.core.transferLeadership(nodeId(3));
    bench.ackAll(2);
    expect(bench.state.config.autoLeave).toBe(true);
    const before = bench.state.log.lastIndex();
    bench.ticks(9);
    expect(bench.state.log.lastIndex()).toBe(before);
    bench.ticks(2);
    expect(bench.state.log.lastIndex()).toBe(before + 1);
  });

  it('is taken over by a new leader', () => {
    const network = Network.of(3);
    const leader = network.elect(1);
    leader.core.proposeChange(change('l4 l5'));
    network.ignore('append-response');
    network.settle();
    network.recover();
    network.isolate(1);
    network.elect(2);
    expect(network.at(2).state.config).toMatchObject({ outgoing: [], learners: [4, 5] });
  });
});

describe('restart', () => {
  it('recovers the membership of the state machine and goes on from there', () => {
    const bench = new Bench({
      ...{ terms: [1, 1], hard: { term: 1, commit: 2 }, applied: logIndex(2) },
      ...{ voters: [1, 2], outgoing: [1], autoLeave: true },
    });
    bench.lead(2);
    expect(bench.state.config.outgoing).toEqual([1]);
    bench.ackAll(2);
    bench.ackAll(2);
    expect(bench.state.config.outgoing).toEqual([]);
    expect(only(bench.disk.config.voters.filter((id) => id === 2))).toBe(2);
  });
});
