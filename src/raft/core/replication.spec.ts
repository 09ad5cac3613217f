/** Replication seen from both sides: what a leader sends and commits, what a follower accepts. */
import { logIndex } from '../../common/ids.js';
import {
  Bench,
  append,
  appendAck,
  appendReject,
  bytes,
  configOf,
  entriesOf,
  heartbeat,
  heartbeatAck,
  ofKind,
  only,
  snapshot,
} from '../../../test/sim/core/bench.js';
import { Network } from '../../../test/sim/core/network.js';
import { ENTRY_OVERHEAD_BYTES } from './types.js';

const progressOf = (bench: Bench, id: number) => {
  const found = bench.core.status().peers.find((peer) => peer.id === id);
  if (found === undefined) throw new Error(`no peer ${id}`);
  return found;
};

describe('committing', () => {
  it('happens when a quorum has it on disk, and is told to the others at once', () => {
    const bench = new Bench().lead(2);
    bench.core.propose(bytes('a'));
    bench.flush();
    expect(bench.state.log.committed).toBe(0);
    const told = ofKind(bench.ackAll(2), 'append-request');
    expect(bench.state.log.committed).toBe(2);
    expect(told.map((m) => [m.to, m.commit])).toEqual(expect.arrayContaining([[2, 2]]));
    expect(bench.applied.map((one) => one.index)).toEqual([1, 2]);
  });

  it('the leader counts itself only after its own disk', () => {
    const bench = new Bench({ asyncStorage: true }).lead(2);
    bench.ackAll(2);
    bench.core.propose(bytes('a'));
    const ready = bench.core.takeReady();
    bench.core.step(appendAck(bench, { from: 2, index: 2 }));
    expect(bench.state.log.committed).toBe(1);
    bench.finish(ready);
    expect(bench.state.log.committed).toBe(2);
  });

  it('a single voter commits nothing before it is durable', () => {
    const bench = new Bench({ voters: [1], asyncStorage: true }).lead();
    bench.core.propose(bytes('a'));
    const ready = bench.core.takeReady();
    expect([ready.committed, bench.state.log.committed]).toEqual([[], 1]);
    bench.finish(ready);
    expect(bench.flush()).toEqual([]);
    expect(bench.applied).toHaveLength(2);
  });

  it('an entry of an earlier term is not committed by counting (figure 8)', () => {
    const bench = new Bench({ terms: [1, 2], hard: { term: 3 } });
    bench.core.campaign();
    bench.flush();
    bench.core.step({ ...appendAck(bench, { from: 2, index: 0 }) });
    bench.core.step({
      ...({ kind: 'vote-response', preVote: false, granted: true } as const),
      ...{ from: 2 as never, to: bench.id, term: bench.state.term },
      ...{ commitIndex: logIndex(0), commitTerm: 0 as never },
    });
    bench.flush();
    bench.core.step(appendAck(bench, { from: 2, index: 2 }));
    expect(bench.state.log.committed).toBe(0);
    bench.core.step(appendAck(bench, { from: 2, index: 3 }));
    expect(bench.state.log.committed).toBe(3);
  });

  it.each([
    [[1, 2, 3, 4], [2], 0],
    [[1, 2, 3, 4], [2, 3], 1],
    [[1, 2, 3, 4, 5], [2], 0],
    [[1, 2, 3, 4, 5], [2, 4], 1],
  ])('voters %j with acknowledgements of %j commit %i', (voters, acks, expected) => {
    const bench = new Bench({ voters }).lead(2, 3, 4);
    for (const from of acks) bench.core.step(appendAck(bench, { from, index: 1 }));
    expect(bench.state.log.committed).toBe(expected);
  });

  it('learners never count', () => {
    const bench = new Bench({ voters: [1, 2, 3], learners: [4, 5] }).lead(2);
    bench.ackAll(4);
    bench.ackAll(5);
    expect(bench.state.log.committed).toBe(0);
  });

  it('both halves of a joint membership must have it', () => {
    const bench = new Bench({ voters: [1, 2, 3], outgoing: [1, 4, 5] }).lead(2, 4);
    bench.ackAll(2);
    expect(bench.state.log.committed).toBe(0);
    bench.ackAll(5);
    expect(bench.state.log.committed).toBe(1);
  });

  it('acknowledgements of strangers or of what was never written are refused', () => {
    const bench = new Bench().lead(2);
    expect(bench.core.step(appendAck(bench, { from: 9, index: 1 }))).toBe('unknown-peer');
    expect(bench.core.step(appendAck(bench, { from: 2, index: 99 }))).toBe('invalid');
    expect(bench.state.log.committed).toBe(0);
  });

  it('an acknowledgement of an earlier term confirms nothing', () => {
    const bench = new Bench().lead(2);
    expect(bench.core.step(appendAck(bench, { from: 2, index: 1, at: 0 }))).toBe('invalid');
    bench.core.campaign();
    const later = new Bench({ hard: { term: 5 } }).lead(2);
    expect(later.core.step(appendAck(later, { from: 2, index: 1, at: 5 }))).toBe('dropped');
    expect(later.state.log.committed).toBe(0);
  });
});

describe('follower append', () => {
  it('acknowledges the last entry of the message, not of its own log', () => {
    const bench = new Bench({ terms: [1, 1, 1] });
    bench.core.step(append(bench, { from: 2, prev: [0, 0], terms: [1] }));
    expect(only(ofKind(bench.flush(), 'append-response')).index).toBe(1);
  });

  it('commits no further than this message verified', () => {
    const bench = new Bench({ terms: [1, 1, 1], hard: { term: 2 } });
    bench.core.step(append(bench, { from: 2, prev: [1, 1], commit: 3 }));
    expect(bench.state.log.committed).toBe(1);
  });

  it('answers an append before its commit index with the commit index and changes nothing', () => {
    const bench = new Bench({ terms: [1, 1, 1], hard: { term: 1, commit: 2 } });
    bench.core.step(append(bench, { from: 2, at: 2, prev: [0, 0], terms: [2, 2, 2] }));
    const answer = only(ofKind(bench.flush(), 'append-response'));
    expect([answer.rejected, answer.index]).toEqual([false, 2]);
    expect(bench.terms()).toEqual([1, 1, 1]);
  });

  it('acknowledges only what is on disk', () => {
    const bench = new Bench({ asyncStorage: true });
    bench.core.step(append(bench, { from: 2, at: 1, prev: [0, 0], terms: [1] }));
    const ready = bench.core.takeReady();
    expect(ofKind(ready.messages, 'append-response')).toEqual([]);
    expect(ofKind(ready.messagesAfterPersist, 'append-response')).toHaveLength(1);
  });

  it('refuses with a hint that skips terms it cannot share', () => {
    const bench = new Bench({ terms: [1, 1, 4, 4, 4] });
    bench.core.step(append(bench, { from: 2, at: 9, prev: [8, 3], terms: [9] }));
    const refusal = only(ofKind(bench.flush(), 'append-response'));
    expect([refusal.rejected, refusal.index, refusal.hintIndex, refusal.hintTerm]).toEqual([
      ...[true, 8, 2, 1],
    ]);
  });

  it('refuses entries that are out of order or newer than their sender', () => {
    const bench = new Bench();
    const good = append(bench, { from: 2, at: 1, prev: [0, 0], terms: [1, 1] });
    const [first, second] = entriesOf([1, 1]);
    for (const entries of [[second, first], [first, first], entriesOf([1, 7])]) {
      expect(bench.core.step({ ...good, entries } as never)).toBe('invalid');
    }
    expect(bench.state.term).toBe(0);
    expect(bench.core.step(good)).toBe('ok');
  });

  it('takes heartbeats at their word, which never exceeds what it holds', () => {
    const bench = new Bench({ terms: [1, 1] });
    bench.core.step(heartbeat(bench, { from: 2, commit: 2 }));
    expect(bench.state.log.committed).toBe(2);
    expect(() => bench.core.step(heartbeat(bench, { from: 2, commit: 9 }))).toThrow(
      'beyond the log',
    );
  });

  it('reordered appends do not shorten the log', () => {
    const bench = new Bench();
    const early = append(bench, { from: 2, at: 1, prev: [0, 0], terms: [1] });
    const late = append(bench, { from: 2, at: 1, prev: [0, 0], terms: [1, 1, 1] });
    bench.core.step(late);
    bench.flush();
    bench.core.step(early);
    bench.flush();
    expect(bench.terms()).toEqual([1, 1, 1]);
  });

  it('a late storage acknowledgement of a replaced entry releases nothing (ABA)', () => {
    const bench = new Bench({ asyncStorage: true });
    bench.core.step(append(bench, { from: 2, at: 1, prev: [0, 0], terms: [1] }));
    const first = bench.core.takeReady();
    bench.core.step(append(bench, { from: 3, at: 2, prev: [0, 0], terms: [2] }));
    const second = bench.core.takeReady();
    expect(second.entries.map((one) => one.term)).toEqual([2]);
    bench.finish(first);
    expect(bench.state.log.unstable.entries.map((one) => one.term)).toEqual([2]);
    expect(bench.state.log.unstable.offset).toBe(1);
    bench.finish(second);
    expect(bench.state.log.unstable.entries).toEqual([]);
  });

  it('an acknowledgement of an older term is ignored although the entry is there again', () => {
    const bench = new Bench({ asyncStorage: true });
    bench.core.step(append(bench, { from: 2, at: 1, prev: [0, 0], terms: [1] }));
    const first = bench.core.takeReady();
    bench.core.step(append(bench, { from: 3, at: 2, prev: [0, 0], terms: [2] }));
    bench.core.takeReady();
    bench.core.step(append(bench, { from: 2, at: 3, prev: [0, 0], terms: [1, 3] }));
    // Entry (1, 1) is back in the tail, but the write of (1, 2) may still hit the disk after the first.
    if (first.persist !== undefined) bench.core.onPersisted(first.persist);
    expect(bench.state.log.unstable.offset).toBe(1);
    expect(bench.events.map((event) => event.type)).toContain('stale-persist-ack');
  });
});

describe('flow control', () => {
  it('probes one append at a time, then streams', () => {
    const bench = new Bench().lead(2);
    bench.core.propose(bytes('a'));
    expect(ofKind(bench.flush(), 'append-request')).toEqual([]);
    const released = ofKind(bench.ackAll(2, 1), 'append-request').filter((m) => m.to === 2);
    expect(released.flatMap((m) => m.entries.map((one) => one.index))).toEqual([2]);
    bench.core.propose(bytes('b'));
    bench.core.propose(bytes('c'));
    const streamed = ofKind(bench.flush(), 'append-request').filter((m) => m.to === 2);
    expect(streamed.map((m) => [m.prevIndex, m.entries.length])).toEqual([
      [2, 1],
      [3, 1],
    ]);
  });

  it('stops at the window and refills it with every acknowledgement', () => {
    const bench = new Bench({ maxInflightMessages: 2 }).lead(2);
    bench.ackAll(2);
    for (const text of ['a', 'b', 'c', 'd']) bench.core.propose(bytes(text));
    const sent = (messages: ReturnType<Bench['flush']>) =>
      ofKind(messages, 'append-request')
        .filter((m) => m.to === 2 && m.entries.length > 0)
        .map((m) => m.prevIndex + m.entries.length);
    expect(sent(bench.flush())).toEqual([2, 3]);
    expect(progressOf(bench, 2).inflightFull).toBe(true);
    expect(sent(bench.ackAll(2, 2))).toEqual([5]);
  });

  it('bounds the window in bytes too', () => {
    const bench = new Bench({ maxInflightBytes: 2 }).lead(2);
    bench.ackAll(2);
    for (const text of ['a', 'b', 'c']) bench.core.propose(bytes(text));
    const sent = ofKind(bench.flush(), 'append-request').filter((m) => m.to === 2);
    expect(sent).toHaveLength(2);
  });

  it('a full window with everything lost recovers through one empty append', () => {
    const network = Network.of(3, { maxInflightMessages: 1 });
    const leader = network.elect(1);
    network.isolate(3);
    for (const text of ['a', 'b', 'c']) leader.core.propose(bytes(text));
    network.settle();
    expect(leader.state.log.committed).toBe(4);
    network.recover();
    leader.core.tick();
    network.settle();
    expect(network.at(3).state.log.committed).toBe(4);
    expect(progressOf(leader, 3).state).toBe('replicate');
  });

  it('cuts appends at the message bound', () => {
    const bench = new Bench({ maxAppendBytes: 2 * (ENTRY_OVERHEAD_BYTES + 1) }).lead(2);
    for (const text of ['a', 'b', 'c', 'd']) bench.core.propose(bytes(text));
    bench.flush();
    const sizes = ofKind(bench.ackAll(2, 1), 'append-request')
      .filter((m) => m.to === 2 && m.entries.length > 0)
      .map((m) => m.entries.length);
    expect(sizes).toEqual([2, 2]);
  });

  it('a heartbeat never carries more than the member is known to hold', () => {
    const bench = new Bench().lead(2);
    bench.ackAll(2);
    bench.core.tick();
    const beats = ofKind(bench.flush(), 'heartbeat').map((m) => [m.to, m.commit]);
    expect(beats).toEqual([
      [2, 1],
      [3, 0],
    ]);
  });

  it('an idle group brings an unreachable member back by heartbeats alone', () => {
    const network = Network.of(3);
    const leader = network.elect(1);
    leader.core.reportUnreachable(2 as never);
    expect(progressOf(leader, 2).state).toBe('probe');
    leader.core.tick();
    network.settle();
    expect(progressOf(leader, 2).state).toBe('replicate');
  });

  it('resumes when storage has read what was to be sent', () => {
    const bench = new Bench({ terms: [1, 1, 1] }).lead(2);
    bench.disk.slow = true;
    bench.core.step(appendReject(bench, { from: 2, index: 3, hint: [0, 0] }));
    expect(ofKind(bench.flush(), 'append-request')).toEqual([]);
    bench.disk.slow = false;
    bench.core.onLogLoaded();
    const [sent] = ofKind(bench.flush(), 'append-request');
    expect([sent?.to, sent?.prevIndex, sent?.entries.length]).toEqual([2, 0, 4]);
  });

  it('reports the last contact of each peer in ticks', () => {
    const bench = new Bench().lead(2);
    bench.ackAll(2);
    bench.ticks(3);
    expect([1, 2, 3].map((id) => progressOf(bench, id).ticksSinceContact)).toEqual([
      0,
      3,
      undefined,
    ]);
    bench.core.step(heartbeatAck(bench, { from: 3 }));
    expect(progressOf(bench, 3).ticksSinceContact).toBe(0);
  });
});

describe('finding agreement', () => {
  it('goes back by whole terms, using what both sides know', () => {
    // Leader 1 1 1 5 5 5, follower 1 1 1 2 2 2 2 2 2: two probes, not six.
    const network = Network.of(2);
    const leader = new Bench({ voters: [1, 2], terms: [1, 1, 1, 5, 5, 5] });
    const follower = new Bench({ id: 2, voters: [1, 2], terms: [1, 1, 1, 2, 2, 2] });
    network.add(leader);
    network.add(follower);
    network.elect(1);
    expect(follower.terms()).toEqual(leader.terms());
    const refusals = ofKind(network.delivered, 'append-response').filter((m) => m.rejected);
    expect(refusals).toHaveLength(1);
  });

  it('ignores stale refusals', () => {
    const bench = new Bench().lead(2);
    bench.ackAll(2);
    bench.core.step(appendReject(bench, { from: 2, index: 1, hint: [0, 0] }));
    expect([progressOf(bench, 2).state, progressOf(bench, 2).next]).toEqual(['replicate', 2]);
  });

  it('a refusal that leads into the compacted log leads to a snapshot', () => {
    const bench = new Bench({ terms: [1, 1, 1], hard: { term: 1, commit: 3 } }).lead(2);
    bench.flush();
    const config = configOf({ voters: [1, 2, 3] });
    bench.disk.snapshot = { index: logIndex(3), term: 1 as never, config };
    bench.disk.compact(logIndex(3));
    bench.core.step(appendReject(bench, { from: 2, index: 3, hint: [0, 0] }));
    const sent = only(ofKind(bench.flush(), 'snapshot'));
    expect([sent.to, sent.snapshot.index]).toEqual([2, 3]);
    expect([progressOf(bench, 2).state, progressOf(bench, 2).paused]).toEqual(['snapshot', true]);
  });
});

describe('snapshots on the leader', () => {
  function leaderSending(config = configOf({ voters: [1, 2, 3] })): Bench {
    const bench = new Bench({ terms: [1, 1, 1], hard: { term: 1, commit: 3 } }).lead(2);
    bench.ackAll(3);
    bench.disk.snapshot = { index: logIndex(3), term: 1 as never, config };
    bench.disk.compact(logIndex(3));
    bench.core.step(appendReject(bench, { from: 2, index: 3, hint: [0, 0] }));
    return bench;
  }

  it('nothing else is sent until it is answered', () => {
    const bench = leaderSending();
    bench.flush();
    bench.core.propose(bytes('a'));
    bench.core.step(heartbeatAck(bench, { from: 2 }));
    expect(bench.flush().filter((m) => m.to === 2)).toEqual([]);
  });

  it('any acknowledgement that reconnects to the log ends it', () => {
    const bench = leaderSending();
    bench.flush();
    bench.core.step(appendAck(bench, { from: 2, index: 3 }));
    expect(progressOf(bench, 2).state).toBe('replicate');
    expect(ofKind(bench.flush(), 'append-request').filter((m) => m.to === 2)).toHaveLength(1);
  });

  it('a report of success waits for the answer, a failure retries after a heartbeat', () => {
    const sent = leaderSending();
    sent.flush();
    sent.core.reportSnapshot(2 as never, 'sent');
    expect(progressOf(sent, 2)).toMatchObject({ state: 'probe', next: 4, paused: true });
    const failed = leaderSending();
    failed.flush();
    failed.core.reportSnapshot(2 as never, 'failed');
    expect(progressOf(failed, 2)).toMatchObject({ state: 'probe', next: 1, paused: true });
    expect(failed.flush()).toEqual([]);
    failed.core.step(heartbeatAck(failed, { from: 2 }));
    expect(ofKind(failed.flush(), 'snapshot')).toHaveLength(1);
  });

  it('one taken before the member was added is not sent', () => {
    const bench = leaderSending(configOf({ voters: [1, 3] }));
    expect(ofKind(bench.flush(), 'snapshot')).toEqual([]);
    expect(progressOf(bench, 2).state).toBe('probe');
  });

  it('one still being prepared is asked for again', () => {
    const bench = leaderSending();
    bench.flush();
    bench.core.reportSnapshot(2 as never, 'failed');
    bench.disk.snapshotSource = () => 'preparing';
    bench.core.step(heartbeatAck(bench, { from: 2 }));
    expect(ofKind(bench.flush(), 'snapshot')).toEqual([]);
    bench.disk.snapshotSource = undefined;
    bench.core.step(heartbeatAck(bench, { from: 2 }));
    expect(ofKind(bench.flush(), 'snapshot')).toHaveLength(1);
  });
});

describe('snapshots on the follower', () => {
  const config = configOf({ voters: [1, 2, 3] });

  it('replaces the log, the membership and the commit index', () => {
    const bench = new Bench({ voters: [] });
    const wanted = configOf({ voters: [1, 2], learners: [5] });
    bench.core.step(snapshot(bench, { from: 2, at: 3, point: [9, 2], config: wanted }));
    expect(bench.state.config).toMatchObject({ voters: [1, 2], learners: [5] });
    const ready = bench.core.takeReady();
    expect(ready.snapshot?.index).toBe(9);
    expect(ready.hardState).toEqual({ term: 3, vote: 0, commit: 9 });
    expect(ready.committed).toEqual([]);
    bench.finish(ready);
    expect([bench.state.log.committed, bench.state.log.applied]).toEqual([9, 9]);
  });

  it('at or below the commit index it is ignored and the commit index answered', () => {
    const bench = new Bench({ terms: [1, 1, 1], hard: { term: 1, commit: 2 } });
    bench.core.step(snapshot(bench, { from: 2, point: [2, 1], config }));
    expect(only(ofKind(bench.flush(), 'append-response')).index).toBe(2);
    expect(bench.terms()).toEqual([1, 1, 1]);
  });

  it('below an installed one it is ignored although the log cannot compare it', () => {
    const bench = new Bench();
    bench.core.step(snapshot(bench, { from: 2, at: 1, point: [9, 1], config }));
    bench.flush();
    bench.core.step(snapshot(bench, { from: 2, point: [5, 1], config }));
    expect(only(ofKind(bench.flush(), 'append-response')).index).toBe(9);
    expect([bench.state.log.committed, bench.state.log.lastIndex()]).toEqual([9, 9]);
  });

  it('of an entry the log has it only moves the commit index', () => {
    const bench = new Bench({ terms: [1, 1, 1], hard: { term: 1, commit: 1 } });
    bench.core.step(snapshot(bench, { from: 2, point: [2, 1], config }));
    expect(only(ofKind(bench.flush(), 'append-response')).index).toBe(2);
    expect([bench.terms(), bench.state.log.committed]).toEqual([[1, 1, 1], 2]);
  });

  it.each([
    ['voter', { voters: [1, 2] }, true],
    ['voter of the outgoing half only', { voters: [2, 3], outgoing: [1, 2] }, true],
    ['learner', { voters: [2], learners: [1] }, true],
    ['stranger', { voters: [2, 3] }, false],
  ])('a %s: taken = %s', (_name, members, taken) => {
    const bench = new Bench();
    const point: [number, number] = [9, 1];
    bench.core.step(snapshot(bench, { from: 2, at: 1, point, config: configOf(members) }));
    expect(bench.state.log.snapshotPending()).toBe(taken);
  });

  it('entries that follow it come in the same Ready, after it (D5)', () => {
    const bench = new Bench({ asyncStorage: true });
    bench.core.step(snapshot(bench, { from: 2, at: 1, point: [9, 1], config }));
    bench.core.step(append(bench, { from: 2, prev: [9, 1], terms: [1], commit: 10 }));
    const ready = bench.core.takeReady();
    expect([ready.snapshot?.index, ready.entries.map((one) => one.index)]).toEqual([9, [10]]);
    expect(ready.committed).toEqual([]);
    bench.finish(ready);
    bench.flush();
    expect(bench.applied.map((one) => one.index)).toEqual([10]);
  });
});
