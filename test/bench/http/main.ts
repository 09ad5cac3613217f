/**
 * `npm run bench`: this process generates the load; broker and baselines are processes of their own.
 * Prints tables, writes JSON and pages of evidence, ends with the verifier. Exit 1 when a message or a
 * dead letter is lost, doubled, out of order or changed, or with --strict when a budget fails.
 */
import { writeFileSync } from 'node:fs';
import { AdminRoutes } from './admin-routes.js';
import { judge, type Budget } from './budgets.js';
import { measureCluster } from './cluster.js';
import { DeadLetterStorm } from './dead-letter-storm.js';
import { measureEphemeral } from './ephemeral.js';
import { writePage } from './evidence-pages.js';
import { measureGuards } from './guards.js';
import { measureLongPoll } from './long-poll.js';
import { ManyPartitions } from './many-partitions.js';
import type { Measurement } from './measure.js';
import { parseOptions, USAGE, type BenchOptions } from './options.js';
import { profileTable } from './profile.js';
import type { PushLedger } from './push-ledger.js';
import { budgetTable, measurementRow, measurementTable, verdictText } from './report.js';
import { RetentionRun } from './retention.js';
import { Rounds, type Served } from './rounds.js';
import { rssMib, Scene } from './scene.js';
import { sleep } from './server-process.js';
import { measureSteadyState } from './steady-state.js';
import { isSound, verifyQueue, type Verdict } from './verifier.js';

const SETTLE_MS = 1000;
const ADMIN_PARTITIONS = 100_000;

interface Outcome {
  readonly measurements: readonly Measurement[];
  readonly budgets: readonly Budget[];
  readonly verdicts: readonly Verdict[];
  readonly notes: readonly string[];
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function verifyAll(
  broker: Served,
  ledgers: readonly PushLedger[],
  options: BenchOptions,
): Promise<readonly Verdict[]> {
  if (!options.verify) return [];
  const verdicts: Verdict[] = [];
  for (const ledger of ledgers) verdicts.push(await verifyQueue(broker.port, ledger));
  return verdicts;
}

async function runCases(scene: Scene, options: BenchOptions): Promise<Outcome> {
  const broker = await scene.broker();
  const baseline = await scene.baseline();
  await sleep(SETTLE_MS);
  const idleRss = rssMib(broker);
  const rounds = new Rounds(
    { broker, baseline },
    {
      ...options,
      report: (measurement) =>
        say(`round ${measurement.round}  ${measurementRow(measurement).slice(0, 14).join('  ')}`),
    },
  );
  await rounds.run();
  const { measurements, ledgers } = rounds;
  const longPoll = await measureLongPoll(broker);
  const verdicts = await verifyAll(broker, ledgers, options);
  return {
    measurements,
    budgets: [...judge(measurements, idleRss), longPoll],
    verdicts,
    notes: [],
  };
}

async function runSteadyState(scene: Scene, options: BenchOptions): Promise<Outcome> {
  const broker = await scene.broker();
  const steady = await measureSteadyState(broker, options.steadySeconds ?? 180);
  const verdicts = await verifyAll(broker, [steady.ledger], options);
  return {
    measurements: [steady.measurement],
    budgets: [steady.budget],
    verdicts,
    notes: [
      `written ${steady.writtenGib.toFixed(1)} GiB, longest stall ${steady.longestStallMs.toFixed(0)} ms`,
      `messages per second: ${steady.rates.join(' ')}`,
    ],
  };
}

async function runManyPartitions(scene: Scene, partitions: number): Promise<Outcome> {
  const { measurements, budgets, lines } = await new ManyPartitions(scene, partitions, say).run();
  return { measurements, budgets, verdicts: [], notes: lines };
}

async function runAdmin(scene: Scene, partitions: number): Promise<Outcome> {
  const { budgets, lines } = await new AdminRoutes(scene, partitions, say).run();
  return { measurements: [], budgets, verdicts: [], notes: lines };
}

async function runRetention(
  scene: Scene,
  messages: number,
  options: BenchOptions,
): Promise<Outcome> {
  const { measurements, budgets, lines, ledgers } = await new RetentionRun(
    scene,
    messages,
    say,
  ).run();
  const verdicts = await verifyAll(scene.running, ledgers, options);
  return { measurements, budgets, verdicts, notes: lines };
}

async function runStorm(scene: Scene, letters: number): Promise<Outcome> {
  const storm = new DeadLetterStorm(await scene.broker(), letters, say);
  const { measurements, budgets, lines } = await storm.run();
  return { measurements, budgets, verdicts: [], notes: lines };
}

async function runEphemeral(scene: Scene, options: BenchOptions): Promise<Outcome> {
  // The rate is a tenant's; here it is the broker that is measured.
  const unlimited = { QUEEN_EPHEMERAL_RATE: '100000000', QUEEN_EPHEMERAL_BURST: '100000000' };
  const broker = await scene.broker(unlimited);
  const notes: string[] = [];
  const note = (text: string): void => {
    say(text);
    notes.push(text);
  };
  const { measurements, budgets } = await measureEphemeral(broker, { ...options, say: note });
  return { measurements, budgets, verdicts: [], notes };
}

async function runGuards(scene: Scene, options: BenchOptions): Promise<Outcome> {
  return { ...(await measureGuards(scene, { ...options, say })), verdicts: [] };
}

async function runLongPoll(scene: Scene): Promise<Outcome> {
  const broker = await scene.broker();
  return {
    measurements: [],
    budgets: [await measureLongPoll(broker)],
    verdicts: [],
    notes: [],
  };
}

async function runCluster(scene: Scene, nodes: number, options: BenchOptions): Promise<Outcome> {
  const { rounds, budgets, verified } = await measureCluster(scene, nodes, {
    ...options,
    report: (measurement) =>
      say(`round ${measurement.round}  ${measurementRow(measurement).slice(0, 14).join('  ')}`),
  });
  const verdicts: Verdict[] = [];
  for (const { broker, ledgers } of verified) {
    verdicts.push(...(await verifyAll(broker, ledgers, options)));
  }
  return { measurements: rounds, budgets, verdicts, notes: [] };
}

function run(scene: Scene, options: BenchOptions): Promise<Outcome> {
  if (options.nodes !== undefined) return runCluster(scene, options.nodes, options);
  if (options.admin) return runAdmin(scene, options.partitions ?? ADMIN_PARTITIONS);
  if (options.partitions !== undefined) return runManyPartitions(scene, options.partitions);
  if (options.retention !== undefined) return runRetention(scene, options.retention, options);
  if (options.deadLetterStorm !== undefined) return runStorm(scene, options.deadLetterStorm);
  if (options.steadySeconds !== undefined) return runSteadyState(scene, options);
  if (options.ephemeral) return runEphemeral(scene, options);
  if (options.guards) return runGuards(scene, options);
  return options.longPoll ? runLongPoll(scene) : runCases(scene, options);
}

/** Everything the run has to show: tables, and what was refused. */
function reportOf({ measurements, notes, budgets, verdicts }: Outcome): string {
  const refusals = measurements.flatMap(({ name, firstRefusal }) =>
    firstRefusal === undefined ? [] : [`refused in ${name}: ${firstRefusal}`],
  );
  return [
    ...(measurements.length > 0 ? [measurementTable(measurements)] : []),
    ...notes,
    budgetTable(budgets),
    ...refusals,
    ...(verdicts.length > 0 ? [verdictText(verdicts)] : []),
  ].join('\n\n');
}

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2));
  if (options === null) {
    say(USAGE);
    return 0;
  }
  const scene = new Scene(options);
  let outcome: Outcome;
  try {
    outcome = await run(scene, options);
  } finally {
    const warnings = await scene.close();
    if (warnings !== '') say(`\nthe broker said:\n${warnings}`);
  }
  const report = reportOf(outcome);
  say(`\n${report}`);
  const passed = hasPassed(outcome, options);
  if (options.evidence) say(`written: ${writePage(options, { report, passed })}`);
  if (options.profile !== undefined) say(`\n${profileTable(options.profile)}`);
  if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(outcome, null, 2));
  return passed ? 0 : 1;
}

/** Budgets that only tell how fast it was count with --strict alone. */
function hasPassed({ verdicts, budgets }: Outcome, { strict }: BenchOptions): boolean {
  if (!verdicts.every(isSound)) return false;
  if (budgets.some(({ isSoundness, holds }) => isSoundness === true && !holds)) return false;
  return !strict || budgets.every(({ holds }) => holds);
}

process.exitCode = await main();
