/** What a run of full length must have done, and what a short one need not. */
import { problemsOf } from './crash-run.js';

type Outcome = Parameters<typeof problemsOf>[0];

function outcome(kills: number, done: number, violations = 0): Outcome {
  const brief = { cutOff: done, lettersSeen: done };
  const collected = { unlinked: done, rewritten: done };
  const ledger = { violations: { count: violations } };
  return { kills, brief, collected, ledger } as unknown as Outcome;
}

it.each<[string, Outcome, number]>([
  ['a full run that did everything', outcome(50, 1), 0],
  ['a full run without retention', outcome(50, 0), 3],
  ['a short run', outcome(6, 0), 0],
  ['a violation', outcome(6, 0, 2), 1],
  ['a run of nothing', outcome(0, 1), 1],
])('%s', (_, run, problems) => {
  expect(problemsOf(run)).toHaveLength(problems);
});

it('names what did not happen', () => {
  const run = outcome(50, 3);
  const problems = problemsOf({ ...run, collected: { unlinked: 0, rewritten: 0 } });
  expect(problems).toEqual(['no log segment was unlinked or rewritten in 50 kills']);
});
