/**
 * The cases with a budget on a cluster next to a single node, in turn within every round, so that both
 * see the same machine. Connections are spread over all nodes. CPU is that of all nodes together: on
 * one machine it is what bounds the rate, and it tells more than the rate when the machine is shared.
 */
import { atLeast, atMost, type Budget } from './budgets.js';
import { BUDGET_CASES } from './cases.js';
import { median } from './latency-record.js';
import type { Measurement } from './measure.js';
import type { PushLedger } from './push-ledger.js';
import { Rounds, type RoundsOptions, type Served } from './rounds.js';
import type { Scene } from './scene.js';
import { sleep } from './server-process.js';

const SETTLE_MS = 1000;
const LEAST_SHARE = 0.35;
const MOST_P99_MS = 25;

export interface ClusterOutcome {
  readonly rounds: readonly Measurement[];
  readonly budgets: readonly Budget[];
  /** What was written where, for the verifier. */
  readonly verified: readonly {
    readonly broker: Served;
    readonly ledgers: readonly PushLedger[];
  }[];
}

export async function measureCluster(
  scene: Scene,
  nodes: number,
  options: Omit<RoundsOptions, 'suffix'>,
): Promise<ClusterOutcome> {
  const single = await scene.broker();
  const members = await scene.cluster(nodes);
  const [first] = members;
  if (first === undefined) throw new Error('a cluster has at least one node');
  const cluster: Served = {
    ...{ port: first.port, pid: first.pid },
    ports: members.map(({ port }) => port),
    pids: members.map(({ pid }) => pid),
  };
  await sleep(SETTLE_MS);
  const suffix = `, ${nodes} nodes`;
  const alone = new Rounds({ broker: single }, options);
  const together = new Rounds({ broker: cluster }, { ...options, suffix });
  for (let round = 1; round <= options.rounds; round += 1) {
    await alone.one(round);
    await together.one(round);
  }
  const rounds = options.cases.flatMap(({ name }) =>
    [...alone.measurements, ...together.measurements].filter(
      (measured) => measured.name === name || measured.name === `${name}${suffix}`,
    ),
  );
  return {
    rounds,
    budgets: judgeCluster(rounds, suffix),
    verified: [
      { broker: single, ledgers: alone.ledgers },
      { broker: cluster, ledgers: together.ledgers },
    ],
  };
}

function judgeCluster(all: readonly Measurement[], suffix: string): readonly Budget[] {
  const { pushOne, pushHundred, popHundred, halfLoad } = BUDGET_CASES;
  const budgets: Budget[] = [];
  for (const { name } of [pushOne, pushHundred, popHundred]) {
    const pairs = pairsOf(all, name, suffix);
    if (pairs.length === 0) continue;
    const rate = median(pairs.map(([one, many]) => many.messagesPerSecond / one.messagesPerSecond));
    budgets.push(atLeast(`${name}${suffix} / single, msg/s`, rate, LEAST_SHARE));
  }
  const half = pairsOf(all, halfLoad.name, suffix).map(([, many]) => many.latency.p99Ms);
  if (half.length > 0) {
    budgets.push(atMost(`push p99 at half load${suffix}, ms`, median(half), MOST_P99_MS));
  }
  return budgets;
}

function pairsOf(
  all: readonly Measurement[],
  name: string,
  suffix: string,
): (readonly [Measurement, Measurement])[] {
  return all
    .filter((measured) => measured.name === name)
    .flatMap((one) => {
      const many = all.find(
        (other) => other.name === `${name}${suffix}` && other.round === one.round,
      );
      return many === undefined ? [] : [[one, many] as const];
    });
}
