/**
 * The suite can fail: every planted wrong rule is found within a part of the sequences that `npm test`
 * runs, and what is found shrinks to a case a person can read.
 */
import { firstDifference, inWorld, smallest } from './campaign.js';
import { InProcessBroker } from './in-process-broker.js';
import { runSequence } from './run.js';
import { withRule, WRONG_RULES } from './wrong-rules.js';

/** Of the first shard; every rule is found long before its end. */
const SEEDS = { from: 1_000_000, count: 500 };
/** A shrunk case has at most so many operations. */
const SMALL = 12;
/** These are shrunk too. */
const SHRUNK: ReadonlySet<string> = new Set([
  'one redelivery more than retryLimit',
  'a seek keeps the lease',
  'an extension may shorten a lease',
]);

it(
  'notices every planted difference and shrinks it',
  async () => {
    const lines = await inWorld(
      () => InProcessBroker.start(),
      async (world) => {
        const found: string[] = [];
        for (const wrong of WRONG_RULES) {
          const rules = withRule(wrong);
          const from = SEEDS.from + (wrong.skip ?? 0);
          const first = await firstDifference(world, rules, { ...SEEDS, from });
          if (first === null) throw new Error(`not noticed: ${wrong.name}`);
          let text = `${wrong.name}: sequence ${first.seed - SEEDS.from}`;
          if (SHRUNK.has(wrong.name)) {
            const small = await smallest(world, first, rules);
            expect(small.length).toBeLessThanOrEqual(SMALL);
            expect((await runSequence(world, small, rules)).difference).not.toBeNull();
            expect((await runSequence(world, small)).difference).toBeNull();
            text += `, shrunk from ${first.steps.length} to ${small.length} operations`;
          }
          found.push(text);
        }
        return found;
      },
    );
    process.stdout.write(`${lines.join('\n')}\n`);
  },
  60 * 60_000,
);
