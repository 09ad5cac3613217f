/** Whose vote counts: founders always, a node told to join once its state binds its number to its directory. */
import { nodeId } from '../../../common/ids.js';
import { VoteRight } from './vote-right.js';

const OWN = new Uint8Array(16).fill(1);
const EARLIER = new Uint8Array(16).fill(2);

it.each<[string, boolean, Uint8Array | undefined, boolean]>([
  ['a founder before anything is bound', false, undefined, true],
  ['a member', false, OWN, true],
  ['a fresh node that waits to be added', true, undefined, false],
  ['a fresh node that replays the time of the one before it', true, EARLIER, false],
  ['the same after a restart', false, EARLIER, false],
  ['a node that was added again', true, OWN, true],
])('%s', (_, joins, bound, mayVote) => {
  const right = new VoteRight(
    { nodeId: nodeId(4), directoryId: OWN },
    { directoryOf: () => bound?.slice() },
  );
  right.joins = joins;
  expect(right.mayVote).toBe(mayVote);
});
