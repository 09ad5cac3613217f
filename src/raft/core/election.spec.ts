/** Votes and elections: who may ask, who is granted what, what an election does to a term. */
import { Bench, heartbeat, ofKind, only, vote, voteRequest } from '../../../test/sim/core/bench.js';
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

  it('that come in late are no votes in the election they led to', () => {
    const bench = new Bench({ preVote: true, voters: [1, 2, 3, 4, 5] });
    bench.core.campaign();
    bench.flush();
    for (const from of [2, 3, 4, 5]) {
      bench.core.step(vote(bench, { from, at: 1, preVote: true, granted: true }));
      bench.flush();
    }
    expect([bench.state.role, bench.state.term]).toEqual(['candidate', 1]);
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
