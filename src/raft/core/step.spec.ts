/** Whatever arrives, `step` either answers or reports a broken invariant; it never throws otherwise. */
import fc from 'fast-check';
import { logIndex, nodeId, term } from '../../common/ids.js';
import { Bench, configOf, entry } from '../../../test/sim/core/bench.js';
import { InvariantViolation } from './invariant.js';
import type { Message } from './messages.js';

const small = fc.integer({ min: 0, max: 4 });
const index = small.map(logIndex);
const terms = small.map(term);
const node = fc.integer({ min: 1, max: 4 }).map(nodeId);
const envelope = { from: node, to: fc.constant(nodeId(1)), term: terms };
const hint = { commitIndex: index, commitTerm: terms };
const entries = fc.array(
  fc.tuple(small, small).map(([t, i]) => entry(t, i)),
  { maxLength: 3 },
);

const message = fc.oneof(
  fc.record({
    ...{ kind: fc.constant('vote-request'), ...envelope, ...hint },
    ...{ preVote: fc.boolean(), transfer: fc.boolean(), lastIndex: index, lastTerm: terms },
  }),
  fc.record({
    ...{ kind: fc.constant('vote-response'), ...envelope, ...hint },
    ...{ preVote: fc.boolean(), granted: fc.boolean() },
  }),
  fc.record({
    ...{ kind: fc.constant('append-request'), ...envelope },
    ...{ prevIndex: index, prevTerm: terms, entries, commit: index },
  }),
  fc.record({
    ...{ kind: fc.constant('append-response'), ...envelope, index },
    ...{ rejected: fc.boolean(), hintIndex: index, hintTerm: terms },
  }),
  fc.record({ kind: fc.constant('heartbeat'), ...envelope, commit: index, readRound: small }),
  fc.record({ kind: fc.constant('heartbeat-response'), ...envelope, readRound: small }),
  fc.record({
    ...{ kind: fc.constant('snapshot'), ...envelope },
    snapshot: fc.record({
      ...{ index, term: terms },
      config: fc.constantFrom(configOf({ voters: [1, 2] }), configOf({ voters: [2, 3] })),
    }),
  }),
  fc.record({ kind: fc.constant('timeout-now'), ...envelope }),
  fc.record({ kind: fc.constant('propose'), ...envelope, entries }),
  fc.record({ kind: fc.constant('read-request'), ...envelope, context: small }),
  fc.record({ kind: fc.constant('read-response'), ...envelope, context: small, index }),
  fc.record({ kind: fc.constant('transfer-request'), ...envelope, target: node }),
) as fc.Arbitrary<Message>;

const action = fc.oneof(
  { weight: 6, arbitrary: message },
  { weight: 1, arbitrary: fc.constantFrom('tick' as const, 'flush' as const, 'campaign' as const) },
);

function perform(bench: Bench, one: Message | 'tick' | 'flush' | 'campaign'): void {
  if (one === 'tick') bench.ticks(5);
  else if (one === 'flush') bench.flush();
  else if (one === 'campaign') bench.core.campaign();
  else bench.core.step(one);
}

it('garbage of the right types is answered, refused or stops the node by an invariant', () => {
  fc.assert(
    fc.property(fc.boolean(), fc.array(action, { maxLength: 40 }), (guarded, actions) => {
      const setup = { preVote: guarded, checkQuorum: guarded };
      const bench = new Bench({ terms: [1, 1], hard: { term: 1, commit: 1 }, ...setup });
      let highest = 1;
      try {
        for (const one of actions) {
          perform(bench, one);
          const { state } = bench;
          expect(state.term).toBeGreaterThanOrEqual(highest);
          highest = state.term;
          expect(state.log.committed).toBeLessThanOrEqual(state.log.lastIndex());
          for (const progress of state.progress.values()) {
            expect(progress.next).toBeGreaterThan(progress.match);
          }
        }
      } catch (error) {
        if (!(error instanceof InvariantViolation)) throw error;
      }
    }),
    { numRuns: 1500 },
  );
});
