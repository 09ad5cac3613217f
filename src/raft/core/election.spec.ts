/** Votes and elections: who may ask, who is granted what, what an election does to a term. */
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

describe('granting a vote', () => {
  it.each([
    ['longer log', [3, 2], 0, true],
    ['same log', [2, 2], 0, true],
    ['shorter log', [1, 2], 0, false],
    ['later term, shorter log', [1, 3], 0, true],
    ['earlier term, longer log', [9, 1], 0, false],
    ['already voted for it', [2, 2], 2, true],
    ['already voted for another', [9, 9], 3, false],
  ] as const)('%s', (_name, last, voted, granted) => {
    const bench = new Bench({ terms: [2, 2], hard: { term: 9, vote: voted } });
    const answer = answerTo(bench, voteRequest(bench, { from: 2, last: [last[0], last[1]] }));
    expect(answer?.granted).toBe(granted);
  });

  it('a second candidate of the term is refused, the first one asking again is not', () => {
    const bench = new Bench();
    const ask = (from: number) =>
      answerTo(bench, voteRequest(bench, { from, at: 1, last: [0, 0] }));
    expect(ask(2)?.granted).toBe(true);
    expect(ask(3)?.granted).toBe(false);
    expect(ask(2)?.granted).toBe(true);
    expect(bench.disk.hardState).toEqual({ term: 1, vote: 2, commit: 0 });
  });

  it('is refused while a leader of the term is known', () => {
    const bench = new Bench({ hard: { term: 1 } });
    bench.core.step(heartbeat(bench, { from: 2 }));
    const answer = answerTo(bench, voteRequest(bench, { from: 3, last: [9, 1] }));
    expect(answer?.granted).toBe(false);
  });

  it('does not outlive its term', () => {
    const bench = new Bench({ hard: { term: 1, vote: 2 } });
    const answer = answerTo(bench, voteRequest(bench, { from: 3, at: 2, last: [0, 0] }));
    expect(answer?.granted).toBe(true);
    expect(bench.state.vote).toBe(3);
  });

  it('waits for the disk: term and vote are stored with it', () => {
    const bench = new Bench({ asyncStorage: true });
    bench.core.step(voteRequest(bench, { from: 2, at: 3, last: [0, 0] }));
    const ready = bench.core.takeReady();
    expect(ready.messages).toEqual([]);
    expect(ready.hardState).toEqual({ term: 3, vote: 2, commit: 0 });
    expect([ready.mustSync, ready.holdMessages]).toEqual([true, true]);
    expect(only(ofKind(ready.messagesAfterPersist, 'vote-response')).granted).toBe(true);
  });

  it('resets the election timer; a refusal does not', () => {
    const bench = new Bench({ terms: [2] }).ticks(9);
    bench.core.step(voteRequest(bench, { from: 2, last: [0, 0] }));
    expect(bench.state.electionElapsed).toBe(9);
    bench.core.step(voteRequest(bench, { from: 2, last: [1, 2] }));
    expect(bench.state.electionElapsed).toBe(0);
  });

  it('learners and nodes outside the membership vote when asked', () => {
    for (const setup of [{ voters: [2, 3], learners: [1] }, { voters: [2, 3] }]) {
      const bench = new Bench(setup);
      const answer = answerTo(bench, voteRequest(bench, { from: 2, at: 1, last: [0, 0] }));
      expect(answer?.granted).toBe(true);
    }
  });

  it('a restarted node remembers its vote', () => {
    const bench = new Bench({ hard: { term: 4, vote: 3 } });
    expect(answerTo(bench, voteRequest(bench, { from: 2, last: [9, 4] }))?.granted).toBe(false);
  });
});

describe('pre-votes', () => {
  it('change nothing on the receiver, granted or not', () => {
    const bench = new Bench({ terms: [2], hard: { term: 2, vote: 3 } }).ticks(5);
    const before = { ...bench.disk.hardState };
    for (const last of [
      [1, 2],
      [0, 0],
    ] as const) {
      bench.core.step(
        voteRequest(bench, { from: 2, at: 7, preVote: true, last: [last[0], last[1]] }),
      );
    }
    const answers = ofKind(bench.flush(), 'vote-response');
    expect(answers.map(({ granted, term: t }) => [granted, t])).toEqual([
      [true, 7],
      [false, 2],
    ]);
    expect(bench.disk.hardState).toEqual(before);
    expect([bench.state.term, bench.state.vote, bench.state.electionElapsed]).toEqual([2, 3, 5]);
  });

  it('are answered, not dropped, when they come from a lower term', () => {
    const bench = new Bench({ hard: { term: 5 } });
    const request = voteRequest(bench, { from: 2, at: 3, preVote: true, last: [9, 9] });
    const answer = answerTo(bench, request);
    expect([answer?.granted, answer?.term]).toEqual([false, 5]);
  });

  it('a refusal with a higher term teaches the asker that term', () => {
    const bench = new Bench({ preVote: true, hard: { term: 1 } });
    bench.core.campaign();
    bench.core.step(vote(bench, { from: 2, at: 6, preVote: true, granted: false }));
    expect([bench.state.role, bench.state.term]).toEqual(['follower', 6]);
  });

  it('do not raise the term of the asker', () => {
    const bench = new Bench({ preVote: true, hard: { term: 1, vote: 2 } });
    bench.core.campaign();
    expect([bench.state.role, bench.state.term, bench.state.vote]).toEqual(['pre-candidate', 1, 2]);
    expect(ofKind(bench.flush(), 'vote-request').map((m) => [m.preVote, m.term])).toEqual([
      [true, 2],
      [true, 2],
    ]);
  });

  it('a won round asks for real votes in the next term', () => {
    const bench = new Bench({ preVote: true, hard: { term: 1 } });
    bench.core.campaign();
    bench.flush();
    bench.core.step(vote(bench, { from: 2, at: 2, preVote: true, granted: true }));
    expect([bench.state.role, bench.state.term, bench.state.vote]).toEqual(['candidate', 2, 1]);
    expect(ofKind(bench.flush(), 'vote-request').map((m) => m.preVote)).toEqual([false, false]);
  });

  it('count afresh in every round', () => {
    const bench = new Bench({ preVote: true, voters: [1, 2, 3, 4, 5] });
    bench.core.campaign();
    bench.flush();
    bench.core.step(vote(bench, { from: 2, at: 1, preVote: true, granted: true }));
    bench.core.campaign();
    bench.flush();
    bench.core.step(vote(bench, { from: 3, at: 1, preVote: true, granted: true }));
    expect(bench.state.role).toBe('pre-candidate');
  });

  it('a grant of an earlier round or of the other kind does not count', () => {
    const bench = new Bench({ preVote: true, hard: { term: 3 } });
    bench.core.campaign();
    bench.flush();
    bench.core.step(vote(bench, { from: 2, at: 3, preVote: true, granted: true }));
    bench.core.step(vote(bench, { from: 2, at: 3, preVote: false, granted: true }));
    expect(bench.state.role).toBe('pre-candidate');
  });

  it('that come in after the election was won start nothing', () => {
    const bench = new Bench({ preVote: true });
    bench.core.campaign();
    bench.flush();
    bench.core.step(vote(bench, { from: 2, at: 1, preVote: true, granted: true }));
    bench.flush();
    bench.core.step(vote(bench, { from: 2, granted: true }));
    bench.core.step(vote(bench, { from: 3, at: 2, preVote: true, granted: true }));
    expect([bench.state.role, bench.state.term]).toEqual(['leader', 1]);
  });

  it('a cut-off node cannot raise the term of the group', () => {
    const network = Network.of(3, { preVote: true, checkQuorum: true });
    network.elect(1);
    network.isolate(3);
    network.at(3).ticks(100);
    network.recover();
    network.settle();
    expect([1, 2, 3].map((id) => network.at(id).state.term)).toEqual([1, 1, 1]);
  });
});

describe('counting', () => {
  it.each([
    [3, [true], 'leader'],
    [3, [false], 'candidate'],
    [3, [false, false], 'follower'],
    [5, [true, false], 'candidate'],
    [5, [true, false, true], 'leader'],
    [5, [false, false, false], 'follower'],
  ] as const)('%i voters, answers %j: %s', (count, answers, role) => {
    const voters = Array.from({ length: count }, (_, i) => i + 1);
    const bench = new Bench({ voters });
    bench.core.campaign();
    bench.flush();
    answers.forEach((granted, i) => bench.core.step(vote(bench, { from: i + 2, granted })));
    expect([bench.state.role, bench.state.term]).toEqual([role, 1]);
  });

  it('the own vote counts only when it is on disk', () => {
    const bench = new Bench({ asyncStorage: true });
    bench.core.campaign();
    const ready = bench.core.takeReady();
    bench.core.step(vote(bench, { from: 2, granted: true }));
    expect(bench.state.role).toBe('candidate');
    bench.finish(ready);
    expect(bench.state.role).toBe('leader');
  });

  it('a second answer of the same node does not count twice, nor turn its first', () => {
    const bench = new Bench({ voters: [1, 2, 3, 4, 5] });
    bench.core.campaign();
    bench.flush();
    for (const granted of [true, true, false]) bench.core.step(vote(bench, { from: 2, granted }));
    expect(bench.state.role).toBe('candidate');
    bench.core.step(vote(bench, { from: 3, granted: true }));
    expect(bench.state.role).toBe('leader');
  });

  it('learners are neither asked nor counted', () => {
    const bench = new Bench({ voters: [1, 2], learners: [3] });
    bench.core.campaign();
    expect(ofKind(bench.flush(), 'vote-request').map((m) => m.to)).toEqual([2]);
    bench.core.step(vote(bench, { from: 3, granted: true }));
    expect(bench.state.role).toBe('candidate');
  });

  it('a joint membership needs both halves', () => {
    const bench = new Bench({ voters: [1, 2, 3], outgoing: [1, 4, 5] });
    bench.core.campaign();
    expect(ofKind(bench.flush(), 'vote-request').map((m) => m.to)).toEqual([2, 3, 4, 5]);
    bench.core.step(vote(bench, { from: 2, granted: true }));
    bench.core.step(vote(bench, { from: 3, granted: true }));
    expect(bench.state.role).toBe('candidate');
    bench.core.step(vote(bench, { from: 5, granted: true }));
    expect(bench.state.role).toBe('leader');
  });

  it('a grant with a higher term is a higher term, not a vote', () => {
    const bench = new Bench();
    bench.core.campaign();
    bench.flush();
    bench.core.step(vote(bench, { from: 2, at: 9, granted: true }));
    expect([bench.state.role, bench.state.term]).toEqual(['follower', 9]);
  });

  it('answers of strangers are refused before they count', () => {
    const bench = new Bench();
    bench.core.campaign();
    bench.flush();
    expect(bench.core.step(vote(bench, { from: 9, granted: true }))).toBe('unknown-peer');
  });
});

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
    expect(bench.state.role).toBe('follower');
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
    bench.ticks(9);
    expect([bench.state.config.voters, bench.state.role]).toEqual([[1, 2], 'leader']);
  });

  it('a leader of an old term is told, although votes cannot reach it', () => {
    const bench = new Bench({ ...guarded, hard: { term: 5 } });
    bench.core.step(heartbeat(bench, { from: 2, at: 3 }));
    expect(only(bench.flush()).term).toBe(5);
    const plain = new Bench({ hard: { term: 5 } });
    plain.core.step(heartbeat(plain, { from: 2, at: 3 }));
    expect(plain.flush()).toEqual([]);
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
