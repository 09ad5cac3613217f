/** Campaigning, leases and the quorum check, commit hints in votes (D3), and what a restart remembers. */
import { nodeId, term } from '../../common/ids.js';
import {
  Bench,
  append,
  change,
  heartbeat,
  ofKind,
  only,
  snapshot,
  timeoutNow,
  vote,
  voteRequest,
  configOf,
  type BenchSetup,
} from '../../../test/sim/core/bench.js';
import { Network } from '../../../test/sim/core/network.js';

function answerTo(bench: Bench, request: ReturnType<typeof voteRequest>) {
  bench.core.step(request);
  return ofKind(bench.flush(), 'vote-response')[0];
}

describe('campaigning', () => {
  it.each([
    ['a learner', { voters: [2, 3], learners: [1] }],
    ['a node outside the membership', { voters: [2, 3] }],
  ] as [string, BenchSetup][])('%s never campaigns', (_name, setup) => {
    const bench = new Bench(setup);
    bench.ticks(100);
    expect(bench.core.campaign()).toBe(false);
    bench.core.step(timeoutNow(bench, { from: 2, at: 1 }));
    expect([bench.state.role, ofKind(bench.flush(), 'vote-request')]).toEqual(['follower', []]);
  });

  it('a leader asked to campaign does nothing', () => {
    const bench = new Bench({ voters: [1] }).lead();
    expect(bench.core.campaign()).toBe(false);
    expect([bench.state.role, bench.state.term]).toEqual(['leader', 1]);
  });

  it('not with a snapshot on its way in', () => {
    const bench = new Bench({ asyncStorage: true });
    const config = configOf({ voters: [1, 2, 3] });
    bench.core.step(snapshot(bench, { from: 2, at: 1, point: [9, 1], config }));
    const ready = bench.core.takeReady();
    bench.ticks(100);
    expect(bench.core.campaign()).toBe(false);
    expect([bench.state.role, bench.core.status().promotable]).toEqual(['follower', false]);
    bench.finish(ready);
    expect(bench.core.campaign()).toBe(true);
  });

  it('not with a committed membership entry that is not applied', () => {
    const bench = new Bench({ asyncStorage: true });
    const leader = new Bench({ id: 2, voters: [1, 2, 3] }).lead(1);
    leader.core.proposeChange(change('r3'));
    leader.ackAll(1);
    const messages = ofKind(leader.flush(), 'append-request');
    expect(messages).toEqual([]);
    const entries = leader.disk.all();
    bench.core.step({
      ...append(bench, { from: 2, at: 1, prev: [0, 0], commit: 2 }),
      entries,
    } as never);
    const ready = bench.core.takeReady();
    bench.store(ready);
    if (ready.persist !== undefined) bench.core.onPersisted(ready.persist);
    const next = bench.core.takeReady();
    expect(bench.core.campaign()).toBe(false);
    bench.core.step(timeoutNow(bench, { from: 2 }));
    expect(bench.state.role).toBe('follower');
    bench.finish(next);
    expect(bench.state.config.voters).toEqual([1, 2]);
    expect(bench.core.campaign()).toBe(true);
  });

  it('not while it is switched off, not even when told to; a running one is given up', () => {
    const bench = new Bench();
    bench.core.campaign();
    bench.core.setCampaigning(false);
    expect([bench.state.role, bench.state.term]).toEqual(['follower', 1]);
    bench.ticks(100);
    bench.core.step(timeoutNow(bench, { from: 2 }));
    expect([bench.core.campaign(), bench.state.role, bench.state.term]).toEqual([
      false,
      'follower',
      1,
    ]);
    bench.core.setCampaigning(true);
    expect(bench.core.campaign()).toBe(true);
  });

  it('starts after between one and two election timeouts, as randomness says', () => {
    for (const [drawn, expected] of [
      [0, 10],
      [9, 19],
    ] as const) {
      const bench = new Bench({ random: () => drawn });
      bench.ticks(expected - 1);
      expect(bench.state.role).toBe('follower');
      bench.core.tick();
      expect(bench.state.role).toBe('candidate');
    }
  });

  it('draws the timeout again in every round', () => {
    const drawn: number[] = [];
    const bench = new Bench({ random: (bound) => drawn.push(bound) });
    bench.ticks(60);
    expect(drawn.length).toBeGreaterThan(2);
    expect(new Set(drawn)).toEqual(new Set([10]));
  });

  it('a lost candidate election is tried again in a new term', () => {
    const bench = new Bench().ticks(10);
    bench.ticks(10);
    expect([bench.state.role, bench.state.term]).toEqual(['candidate', 2]);
  });

  it.each(['append', 'heartbeat', 'snapshot'] as const)(
    'a candidate hearing a leader of its term by %s follows it and handles it',
    (kind) => {
      const bench = new Bench();
      bench.core.campaign();
      bench.flush();
      const config = configOf({ voters: [1, 2, 3] });
      const message = {
        append: append(bench, { from: 2, prev: [0, 0], terms: [1], commit: 1 }),
        heartbeat: heartbeat(bench, { from: 2 }),
        snapshot: snapshot(bench, { from: 2, point: [7, 1], config }),
      }[kind];
      bench.core.step(message);
      expect([bench.state.role, bench.state.leader]).toEqual(['follower', 2]);
      const answers = bench.flush().filter((m) => m.to === nodeId(2));
      expect(answers).toHaveLength(1);
      expect(bench.state.log.committed).toBe({ append: 1, heartbeat: 0, snapshot: 7 }[kind]);
    },
  );

  it('a new leader opens its term with an empty entry and sends it at once', () => {
    const bench = new Bench({ terms: [1, 1] });
    bench.core.campaign();
    bench.flush();
    bench.core.step(vote(bench, { from: 2, granted: true }));
    const appends = ofKind(bench.flush(), 'append-request');
    expect(bench.terms()).toEqual([1, 1, 2]);
    expect(appends.map((m) => [m.to, m.prevIndex, m.entries.length])).toEqual([
      [2, 2, 1],
      [3, 2, 1],
    ]);
  });

  it('terms only move forward: lower ones are ignored, higher ones adopted', () => {
    const bench = new Bench({ hard: { term: 5, vote: 1 } });
    bench.core.step(append(bench, { from: 2, at: 4, prev: [0, 0], terms: [4], commit: 1 }));
    bench.core.step(vote(bench, { from: 2, at: 4, granted: true }));
    expect([bench.state.term, bench.state.log.lastIndex()]).toEqual([5, 0]);
    bench.core.step(heartbeat(bench, { from: 2, at: 8 }));
    expect([bench.state.term, bench.state.vote, bench.state.leader]).toEqual([8, 0, 2]);
  });

  it('a second leader in a term stops the node', () => {
    const follower = new Bench({ hard: { term: 1 } });
    follower.core.step(heartbeat(follower, { from: 2 }));
    follower.core.forgetLeader();
    expect(() => follower.core.step(heartbeat(follower, { from: 3 }))).toThrow('two leaders');
    const leader = new Bench().lead(2);
    expect(() => leader.core.step(heartbeat(leader, { from: 3 }))).toThrow('two leaders');
  });
});

describe('quorum check and leases', () => {
  const guarded = { checkQuorum: true };

  it('a voter that hears a leader ignores candidates of later terms', () => {
    const bench = new Bench({ ...guarded, hard: { term: 1 } });
    bench.core.step(heartbeat(bench, { from: 2 }));
    bench.flush();
    for (const preVote of [true, false]) {
      bench.core.step(voteRequest(bench, { from: 3, at: 2, preVote, last: [9, 9] }));
    }
    expect([bench.flush(), bench.state.term]).toEqual([[], 1]);
    bench.core.step(voteRequest(bench, { from: 3, at: 2, last: [9, 9], transfer: true }));
    expect(only(ofKind(bench.flush(), 'vote-response')).granted).toBe(true);
  });

  it('but grants the votes of that leader itself', () => {
    const bench = new Bench({ ...guarded, hard: { term: 1 } });
    bench.core.step(heartbeat(bench, { from: 2 }));
    bench.flush();
    for (const preVote of [true, false]) {
      const request = voteRequest(bench, { from: 2, at: 2, preVote, last: [9, 9] });
      expect(answerTo(bench, request)?.granted).toBe(true);
    }
  });

  it('grants after the lease ran out, and right after a start', () => {
    const bench = new Bench({ ...guarded, hard: { term: 1 } });
    bench.core.step(heartbeat(bench, { from: 2 }));
    bench.state.randomizedTimeout = 20;
    bench.ticks(10);
    const late = voteRequest(bench, { from: 3, at: 2, last: [9, 9] });
    expect(answerTo(bench, late)?.granted).toBe(true);
    const fresh = new Bench({ ...guarded, hard: { term: 1 } });
    const early = voteRequest(fresh, { from: 3, at: 2, last: [0, 0] });
    expect(answerTo(fresh, early)?.granted).toBe(true);
  });

  it('a leader that hears no quorum for an election timeout steps down in its term', () => {
    const bench = new Bench(guarded).lead(2);
    bench.ticks(10);
    expect(bench.state.role).toBe('follower');
    expect(bench.state.term).toBe(1);
  });

  it('answers keep it; learners do not', () => {
    const bench = new Bench({ ...guarded, voters: [1, 2, 3], learners: [4] }).lead(2);
    for (let round = 0; round < 5; round += 1) {
      bench.ackAll(2);
      bench.ticks(9);
    }
    expect(bench.state.role).toBe('leader');
    for (let round = 0; round < 5 && bench.state.role === 'leader'; round += 1) {
      bench.ackAll(4);
      bench.ticks(9);
    }
    expect(bench.state.role).toBe('follower');
  });

  it('a member added now counts as active at first', () => {
    const bench = new Bench({ ...guarded, voters: [1] }).lead();
    bench.core.proposeChange(change('v2'));
    bench.flush();
    bench.ticks(10);
    expect([bench.state.config.voters, bench.state.role]).toEqual([[1, 2], 'leader']);
    bench.ticks(10);
    expect(bench.state.role).toBe('follower');
  });

  it('a leader of an old term is told, although votes cannot reach it', () => {
    for (const setup of [guarded, {}]) {
      const bench = new Bench({ ...setup, hard: { term: 5 } });
      bench.core.step(heartbeat(bench, { from: 2, at: 3 }));
      expect(only(bench.flush()).term).toBe(5);
      expect(bench.state.leader).toBe(0);
    }
  });

  it('a stuck candidate with a higher term is freed by the leader it hears', () => {
    const network = Network.of(3, guarded);
    network.elect(1);
    network.isolate(3);
    network.at(3).ticks(40);
    network.recover();
    network.at(1).ticks(1);
    network.settle();
    // The leader has met the higher term and stepped down; its next election heals the group.
    network.at(1).ticks(10);
    network.settle();
    expect(network.roles()).toContain('leader');
    const terms = [1, 2, 3].map((id) => network.at(id).state.term);
    expect(new Set(terms).size).toBe(1);
  });
});

describe('commit hints in votes (D3)', () => {
  it('requests and refusals say what their sender knows to be committed', () => {
    const bench = new Bench({ terms: [1, 2], hard: { term: 2, commit: 2 } });
    bench.core.campaign();
    const [request] = ofKind(bench.flush(), 'vote-request');
    expect([request?.commitIndex, request?.commitTerm]).toEqual([2, 2]);
    const refuser = new Bench({ terms: [1, 2], hard: { term: 2, commit: 2 } });
    const refusal = answerTo(refuser, voteRequest(refuser, { from: 2, at: 3, last: [1, 1] }));
    expect([refusal?.granted, refusal?.commitIndex, refusal?.commitTerm]).toEqual([false, 2, 2]);
  });

  it('the receiver commits when it holds exactly that entry', () => {
    const cases = [
      [[2, 2], 2],
      [[2, 1], 0],
      [[3, 2], 0],
    ] as const;
    for (const [hint, expected] of cases) {
      const bench = new Bench({ terms: [1, 2] });
      const commit: [number, number] = [hint[0], hint[1]];
      bench.core.step(voteRequest(bench, { from: 2, at: 3, last: [0, 0], commit }));
      expect(bench.state.log.committed).toBe(expected);
    }
  });

  it('a candidate that learns of an unapplied membership entry steps back', () => {
    const bench = new Bench({ voters: [1, 2, 3] });
    const leader = new Bench({ id: 2 }).lead(3);
    leader.core.proposeChange(change('r3'));
    leader.flush();
    const entries = leader.disk.all();
    bench.core.step({ ...append(bench, { from: 2, at: 1, prev: [0, 0] }), entries } as never);
    bench.flush();
    bench.core.campaign();
    bench.flush();
    expect(bench.state.role).toBe('candidate');
    bench.core.step(vote(bench, { from: 2, granted: false, commit: [2, 1] }));
    expect([bench.state.role, bench.state.log.committed]).toEqual(['follower', 2]);
    bench.flush();
    expect(bench.state.config.voters).toEqual([1, 2]);
  });

  it('a leader takes no hints', () => {
    const bench = new Bench().lead(2);
    bench.core.step(voteRequest(bench, { from: 3, last: [0, 0], commit: [1, 1] }));
    expect(bench.state.log.committed).toBe(0);
  });
});

describe('restart', () => {
  it('a former leader starts as follower in its old term with its vote', () => {
    const bench = new Bench({ terms: [1, 1], hard: { term: 1, vote: 1, commit: 1 } });
    expect([bench.state.role, bench.state.term, bench.state.vote]).toEqual(['follower', 1, 1]);
    expect([bench.state.log.committed, bench.core.hasReady()]).toEqual([1, true]);
    expect(bench.core.takeReady().committed).toHaveLength(1);
  });

  it('what the state machine holds is committed even if the disk says less (D6)', () => {
    const bench = new Bench({ terms: [1, 1], hard: { term: 1, commit: 0 }, applied: 2 as never });
    expect([bench.state.log.committed, bench.state.log.applied]).toEqual([2, 2]);
    expect(bench.state.term).toBe(term(1));
  });
});
