/** `npm run crash -- --kills 50 --seed 7`: the long form of sigkill.spec.ts. Exit 1 on a violation. */
import { parseArgs } from 'node:util';
import { CrashRun, outcomeText } from './crash-run.js';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    'load-ms': { type: 'string', default: '1500' },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const seed = Number(values.seed);
say(`seed ${seed}`);
const outcome = await new CrashRun({
  ...{ kills: Number(values.kills), seed, maxLoadMs: Number(values['load-ms']), say, keep: true },
}).run();
say(outcomeText(outcome));
if (outcome.ledger.violations.count > 0) {
  say(`the data directory is kept: ${outcome.directory}`);
  process.exitCode = 1;
}
