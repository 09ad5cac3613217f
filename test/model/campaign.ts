/**
 * Runs many sequences against one broker. A difference is shrunk and thrown with its seed and the
 * smallest sequence that still shows it; at the end the counts are printed.
 */
import type { BrokerPort } from './broker-port.js';
import { generate, type Kinds } from './generate.js';
import type { Step } from './operations.js';
import type { Rules } from './rules.js';
import { runSequence, type Difference, type World } from './run.js';
import { shrink } from './shrink.js';
import { VirtualClock } from './virtual-clock.js';

export interface Found {
  readonly seed: number;
  readonly steps: readonly Step[];
  readonly difference: Difference;
}

/** Opens a world whose time only the harness moves, and closes it whatever happens. */
export async function inWorld<T>(
  start: () => Promise<BrokerPort>,
  use: (world: World & { readonly clock: VirtualClock }) => Promise<T>,
): Promise<T> {
  const clock = new VirtualClock();
  clock.install();
  try {
    const broker = await start();
    try {
      return await use({ broker, clock });
    } finally {
      await broker.stop();
    }
  } finally {
    clock.uninstall();
  }
}

export interface Seeds {
  readonly from: number;
  readonly count: number;
  readonly kinds?: Kinds;
  /** Sequences that one broker sees. */
  readonly perBroker?: number;
}

/** A broker that has seen many sequences answers slower: its state is never dropped. */
const SEQUENCES_OF_A_BROKER = 400;

/** Every sequence of the seeds must agree with the model. */
export async function expectAgreement(
  start: () => Promise<BrokerPort>,
  { from, count, kinds = {}, perBroker = SEQUENCES_OF_A_BROKER }: Seeds,
): Promise<void> {
  const began = performance.now();
  let operations = 0;
  for (let first = from; first < from + count; first += perBroker) {
    const last = Math.min(first + perBroker, from + count);
    operations += await agree(start, { from: first, count: last - first, kinds });
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  process.stdout.write(`model: ${count} sequences, ${operations} operations, ${seconds} s\n`);
}

/** On one broker; the operations run. */
function agree(
  start: () => Promise<BrokerPort>,
  { from, count, kinds = {} }: Seeds,
): Promise<number> {
  return inWorld(start, async (world) => {
    let operations = 0;
    for (let seed = from; seed < from + count; seed += 1) {
      const steps = generate(seed, kinds);
      const outcome = await runSequence(world, steps);
      operations += outcome.operations;
      if (outcome.difference !== null) throw new Error(await report(world, { seed, steps }));
    }
    return operations;
  });
}

/** The first seed whose sequence shows that a rule is not the broker's. */
export async function firstDifference(
  world: World,
  rules: Rules,
  { from, count }: Seeds,
): Promise<Found | null> {
  for (let seed = from; seed < from + count; seed += 1) {
    const steps = generate(seed);
    const { difference } = await runSequence(world, steps, rules);
    if (difference !== null) return { seed, steps, difference };
  }
  return null;
}

/** The smallest sequence that fails in the same way. */
export function smallest(world: World, { steps, difference }: Omit<Found, 'seed'>, rules?: Rules) {
  const kind = kindOf(difference);
  return shrink(steps, async (candidate) => {
    const outcome = await runSequence(world, candidate, rules);
    return outcome.difference !== null && kindOf(outcome.difference) === kind;
  });
}

/** What differs, without the values. */
function kindOf({ text, step }: Difference): string {
  return `${step.op.kind} ${text.split(/[:$]/, 1)[0]?.replaceAll(/\d+/g, '') ?? ''}`;
}

async function report(
  world: World,
  { seed, steps }: Pick<Found, 'seed' | 'steps'>,
): Promise<string> {
  const { difference } = await runSequence(world, steps);
  if (difference === null) return `seed ${seed} differs only after the sequences before it`;
  const small = await smallest(world, { steps, difference });
  const again = await runSequence(world, small);
  const lines = small.map((step) => `  ${JSON.stringify(step)}`);
  const shown = again.difference ?? difference;
  return [`seed ${seed}, operation ${shown.step.number}: ${shown.text}`, ...lines].join('\n');
}
