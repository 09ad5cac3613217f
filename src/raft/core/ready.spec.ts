/** The contract with the driver: what a Ready holds, when, and that nothing in it can be turned on us. */
import { logIndex, nodeId } from '../../common/ids.js';
import { Bench, append, bytes, heartbeat, ofKind, only } from '../../../test/sim/core/bench.js';
import { Network } from '../../../test/sim/core/network.js';
import { InvariantViolation } from './invariant.js';
import { ENTRY_OVERHEAD_BYTES } from './types.js';

describe('a Ready', () => {
  it('is offered only when there is something', () => {
    const bench = new Bench();
    expect(bench.core.hasReady()).toBe(false);
    bench.core.tick();
    expect(bench.core.hasReady()).toBe(false);
    bench.core.step(heartbeat(bench, { from: 2, at: 1 }));
    expect(bench.core.hasReady()).toBe(true);
    bench.flush();
    expect(bench.core.hasReady()).toBe(false);
  });

  it('reports leader and role changes once', () => {
    const bench = new Bench();
    bench.core.step(heartbeat(bench, { from: 2, at: 1 }));
    expect(bench.core.takeReady().softState).toEqual({ leader: 2, role: 'follower' });
    bench.core.step(heartbeat(bench, { from: 2 }));
    expect(bench.core.takeReady().softState).toBeUndefined();
  });

  it('is frozen through and through, and shares no array with the core', () => {
    const bench = new Bench({ voters: [1, 2] }).lead(2);
    bench.ackAll(2);
    bench.core.propose(bytes('a'));
    const ready = bench.core.takeReady();
    for (const part of [ready, ready.entries, ready.messages, ready.messagesAfterPersist]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
    const [message] = ofKind(ready.messages, 'append-request');
    expect([message, message?.entries, ready.entries[0]].every(Object.isFrozen)).toBe(true);
    expect(() => (ready.entries as unknown[]).push(1)).toThrow(TypeError);
    expect(ready.entries).not.toBe(bench.state.log.unstable.entries);
    bench.core.propose(bytes('b'));
    expect(ready.entries).toHaveLength(1);
  });

  it('never copies payloads: the proposed bytes are the sent and the applied ones', () => {
    const network = Network.of(3);
    const leader = network.elect(1);
    const data = bytes('payload');
    leader.core.propose(data);
    network.settle();
    for (const id of [1, 2, 3]) expect(network.at(id).applied.at(-1)?.data).toBe(data);
    expect(Object.isFrozen(data)).toBe(false);
  });

  it('asks for a sync when the ballot or entries changed, not for a commit index alone', () => {
    const bench = new Bench({ voters: [1], asyncStorage: true });
    bench.core.campaign();
    const ballot = bench.core.takeReady();
    expect([ballot.mustSync, ballot.holdMessages]).toEqual([true, true]);
    bench.finish(ballot);
    const opening = bench.core.takeReady();
    expect([opening.mustSync, opening.holdMessages, opening.entries.length]).toEqual([
      true,
      false,
      1,
    ]);
    bench.finish(opening);
    const commit = bench.core.takeReady();
    expect([commit.mustSync, commit.hardState?.commit]).toEqual([false, 1]);
  });

  it('several may be outstanding; the last acknowledgement covers the earlier ones', () => {
    const bench = new Bench({ voters: [1], asyncStorage: true }).lead();
    bench.core.propose(bytes('a'));
    const first = bench.core.takeReady();
    bench.core.propose(bytes('b'));
    const second = bench.core.takeReady();
    expect([first.entries, second.entries].map((list) => list.map((e) => e.index))).toEqual([
      [2],
      [3],
    ]);
    bench.store(first);
    bench.store(second);
    if (second.persist !== undefined) bench.core.onPersisted(second.persist);
    expect(bench.state.log.committed).toBe(3);
    expect(bench.state.log.unstable.entries).toEqual([]);
    // Late and out of order: confirms nothing new, breaks nothing (D7).
    if (first.persist !== undefined) bench.core.onPersisted(first.persist);
    bench.flush();
    expect(bench.applied.map((one) => one.index)).toEqual([1, 2, 3]);
  });

  it('hands out committed entries in bounded pages and goes on after each', () => {
    const bench = new Bench({
      terms: [1, 1, 1, 1],
      hard: { term: 1, commit: 4 },
      maxApplyingBytes: ENTRY_OVERHEAD_BYTES + 2,
    });
    const pages: number[][] = [];
    while (bench.core.hasReady()) {
      const ready = bench.core.takeReady();
      pages.push(ready.committed.map((one) => one.index));
      bench.finish(ready);
    }
    expect(pages).toEqual([[1], [2], [3], [4]]);
  });

  it('a restart from a snapshot offers only what the state machine lacks', () => {
    const bench = new Bench({
      terms: [1, 1, 1],
      hard: { term: 1, commit: 3 },
      applied: logIndex(2),
    });
    expect(bench.core.takeReady().committed.map((one) => one.index)).toEqual([3]);
  });

  it('a slow disk never makes an empty busy loop', () => {
    const bench = new Bench({ terms: [1], hard: { term: 1, commit: 1 } });
    bench.disk.slow = true;
    expect(bench.core.takeReady().committed).toEqual([]);
    expect(bench.core.hasReady()).toBe(false);
    bench.disk.slow = false;
    bench.core.onLogLoaded();
    expect(only(bench.core.takeReady().committed).index).toBe(1);
  });
});

describe('proposing', () => {
  it('on the leader tells the place', () => {
    const bench = new Bench({ voters: [1] }).lead();
    expect(bench.core.propose(bytes('a'))).toEqual({ outcome: 'appended', index: 2, term: 1 });
  });

  it('elsewhere is refused with the reason, or forwarded when asked to', () => {
    const bench = new Bench();
    expect(bench.core.propose(bytes('a'))).toEqual({ outcome: 'refused', reason: 'no-leader' });
    bench.core.step(heartbeat(bench, { from: 2, at: 1 }));
    expect(bench.core.propose(bytes('a'))).toEqual({ outcome: 'refused', reason: 'not-leader' });
    const network = Network.of(3, { forwardProposals: true });
    network.elect(1);
    expect(network.at(2).core.propose(bytes('a')).outcome).toBe('forwarded');
    network.settle();
    expect(network.at(3).applied.at(-1)?.data).toEqual(bytes('a'));
    network.at(2).core.step(heartbeat(network.at(2), { from: 1 }));
    const looping = { kind: 'propose', from: 1, to: 2, term: 0, entries: [{ data: bytes('x') }] };
    expect(network.at(2).core.step(looping as never)).toBe('dropped');
  });

  it('is bounded by what is not applied yet, and recovers', () => {
    const bench = new Bench({ voters: [1, 2], maxUncommittedBytes: 10 }).lead(2);
    bench.ackAll(2);
    expect(bench.core.propose(bytes('x'.repeat(40))).outcome).toBe('appended');
    expect(bench.core.propose(bytes('y'))).toEqual({ outcome: 'refused', reason: 'over-limit' });
    expect(bench.core.propose(bytes('')).outcome).toBe('appended');
    bench.flush();
    bench.ackAll(2);
    expect(bench.core.status().uncommittedBytes).toBe(0);
    expect(bench.core.propose(bytes('y')).outcome).toBe('appended');
  });
});

describe('messages', () => {
  it('of others, of itself or without a term are refused', () => {
    const bench = new Bench();
    const good = append(bench, { from: 2, at: 1, prev: [0, 0], terms: [1] });
    expect(bench.core.step({ ...good, to: nodeId(2) })).toBe('invalid');
    expect(bench.core.step({ ...good, from: nodeId(1) })).toBe('invalid');
    expect(bench.core.step({ ...good, term: 0 as never })).toBe('invalid');
    expect(bench.state.log.lastIndex()).toBe(0);
  });

  it('from nodes outside the membership never crash, requests are served', () => {
    const bench = new Bench({ voters: [] });
    expect(bench.core.step(append(bench, { from: 7, at: 1, prev: [0, 0], terms: [1] }))).toBe('ok');
    expect(only(ofKind(bench.flush(), 'append-response')).to).toBe(7);
  });
});

describe('status', () => {
  it('calls a leader established only once it has applied its own entry', () => {
    const bench = new Bench().lead(2);
    expect(bench.core.status()).toMatchObject({ role: 'leader', established: false });
    bench.ackAll(2);
    expect(bench.core.status()).toMatchObject({ role: 'leader', established: true });
  });

  it('forgetting a leader keeps term, vote and timer', () => {
    const bench = new Bench({ hard: { term: 1, vote: 2 } });
    bench.core.step(heartbeat(bench, { from: 2 }));
    bench.ticks(4);
    bench.core.forgetLeader();
    expect(bench.core.status()).toMatchObject({ leader: 0, term: 1, vote: 2, electionElapsed: 4 });
    bench.core.step(heartbeat(bench, { from: 2 }));
    expect(bench.core.status().leader).toBe(2);
  });

  it('options that cannot work are refused', () => {
    expect(() => new Bench({ electionTicks: 1 })).toThrow(InvariantViolation);
    expect(() => new Bench({ heartbeatTicks: 0 })).toThrow(InvariantViolation);
    expect(() => new Bench({ maxInflightMessages: 0 })).toThrow(InvariantViolation);
  });

  it('a restart that would lose committed entries is refused', () => {
    expect(() => new Bench({ terms: [1], hard: { term: 1, commit: 2 } })).toThrow('beyond the log');
    expect(() => new Bench({ terms: [1], applied: logIndex(2) })).toThrow('beyond the log');
  });
});
