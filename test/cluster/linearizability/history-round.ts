/**
 * Several histories at once under one fault, each with clients and keys of its own: the cluster is kept,
 * and a fault costs its time once. Every history has calls before, during and after the fault.
 */
import type { Verdict } from '../../support/wgl.js';
import { TooManyConfigurations } from '../../support/wgl.js';
import { pause, type ClusterProcesses } from '../../support/cluster-processes.js';
import { injectFault, type HistoryFault } from './fault.js';
import { HistoryRun, seeded, type Phase } from './history-run.js';
import { rejectsStaleRead } from './stale-read.js';
import { WORKLOADS, type Workload } from './workloads.js';

const READY_MS = 180_000;

export interface RoundOptions {
  readonly fault: HistoryFault;
  readonly seed: number;
  /** Number of the round's first history. */
  readonly first: number;
  readonly histories: number;
  readonly calls: number;
}

export interface HistoryResult extends Verdict {
  readonly workload: Workload;
  readonly fault: HistoryFault;
  /** Nobody knows: there are too many orders to look at. */
  readonly undecided: boolean;
  readonly seed: number;
  readonly calls: number;
  readonly unknown: number;
  readonly nodes: number;
  /** Longest answered call, ms. */
  readonly slowestMs: number;
  /** Calls under way or begun while the fault lasted. */
  readonly duringFault: number;
  /** A stale read planted into a copy was rejected; null when none could be planted. */
  readonly staleRejected: boolean | null;
  readonly recorded: HistoryRun['recorded'];
}

export async function runRound(
  cluster: ClusterProcesses,
  options: RoundOptions,
): Promise<HistoryResult[]> {
  const { fault, first, histories, calls } = options;
  await cluster.leader(cluster.ids, READY_MS);
  let phase: Phase = 'before';
  const runs = Array.from({ length: histories }, (_, i) => {
    const workload = WORKLOADS[(first + i) % WORKLOADS.length] ?? 'register';
    const seed = options.seed + first + i;
    return new HistoryRun(cluster, { workload, seed, calls, phase: () => phase });
  });
  const done = Promise.all(runs.map((run) => run.run()));
  const broken = done.then(
    () => false,
    () => true,
  );
  while (!runs.every(({ isReady }) => isReady)) await pause(5);
  phase = 'during';
  const from = performance.now();
  await injectFault(cluster, fault, {
    random: seeded(options.seed * 7919 + first),
    isMet: () => runs.every(({ hasMetFault }) => hasMetFault),
  });
  const to = performance.now();
  phase = 'after';
  await broken;
  await done;
  return runs.map((run) => resultOf(run, fault, { from, to }));
}

function resultOf(
  run: HistoryRun,
  fault: HistoryFault,
  { from, to }: { readonly from: number; readonly to: number },
): HistoryResult {
  const { recorded, unknown, nodes } = run;
  const { workload, seed } = run.options;
  const answered = recorded.filter(({ end }) => end !== Infinity);
  return {
    ...verdictOf(run),
    ...{ workload, fault, seed, unknown, nodes, recorded, calls: recorded.length },
    slowestMs: Math.max(0, ...answered.map(({ start, end }) => end - start)),
    duringFault: recorded.filter(({ start, end }) => start <= to && end >= from).length,
    staleRejected: staleVerdict(run),
  };
}

function verdictOf(run: HistoryRun): Verdict & { readonly undecided: boolean } {
  try {
    return { ...run.check(), undecided: false };
  } catch (error) {
    if (!(error instanceof TooManyConfigurations)) throw error;
    return { linearizable: true, visited: Number(error.message), longest: 0, undecided: true };
  }
}

function staleVerdict(run: HistoryRun): boolean | null {
  try {
    return rejectsStaleRead(run.recorded);
  } catch (error) {
    // The search for a proof was given up: nothing is said either way.
    if (error instanceof TooManyConfigurations) return null;
    throw error;
  }
}
