/**
 * `npm run linearizability -- --histories 200 --seed 7 [--evidence]`: histories of every workload under
 * every fault, some at a time, on one cluster. Prints the table of docs/evidence/linearizability.md and
 * writes it with --evidence. Exit 1 when a history cannot be put in order, is too short, saw no fault, or
 * when a stale read planted into one goes unnoticed.
 */
import { parseArgs } from 'node:util';
import { ClusterProcesses } from '../../support/cluster-processes.js';
import { writeEvidence } from '../../support/evidence.js';
import { FAULTS } from './fault.js';
import { HISTORY_ENV } from './history-run.js';
import { runRound, type HistoryResult } from './history-round.js';
import { WORKLOADS } from './workloads.js';

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    calls: { type: 'string', default: '500' },
    together: { type: 'string', default: '8' },
    evidence: { type: 'boolean', default: false },
  },
});

const ABOUT = `Histories of concurrent key-value calls on three nodes (real processes, a fault proxy between every
two), recorded by the clients and put in order by an independent search (\`test/support/wgl.ts\`). Eight clients a
history ask all nodes about at most five keys; every history has a fault in its middle: a node killed and started
again, stopped, or cut off (both ways or one way), mostly the leader, until the others have served without it. "During"
counts calls begun or under way while the fault lasted, "unknown" writes without an answer. "Stale rejected": into a
copy of each history one stale read is planted, and the checker must refuse it (of those that have a place for one).`;
const NODES = 3;
/** Share of a history's calls that are under way or begun while its fault lasts. */
const LEAST_DURING = 0.1;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const seed = Number(values.seed);
const histories = Number(values.histories);
const calls = Number(values.calls);
const together = Number(values.together);

function problemOf(result: HistoryResult): string | null {
  if (result.undecided) return 'the search for an order was given up';
  if (!result.linearizable) return `NOT LINEARIZABLE\n${JSON.stringify(result.recorded)}`;
  if (result.calls < calls) return `only ${result.calls} calls`;
  if (result.nodes < NODES) return `only ${result.nodes} nodes answered`;
  if (result.duringFault < calls * LEAST_DURING) return `${result.duringFault} calls met the fault`;
  if (result.staleRejected === false) return 'a planted stale read was accepted';
  return null;
}

async function runAll(): Promise<HistoryResult[]> {
  const results: HistoryResult[] = [];
  const cluster = await ClusterProcesses.start({ env: HISTORY_ENV, faulty: true });
  try {
    for (let round = 0; results.length < histories; round += 1) {
      const first = results.length;
      const fault = FAULTS[round % FAULTS.length] ?? 'kill';
      const size = Math.min(together, histories - first);
      const some = await runRound(cluster, { fault, seed, first, histories: size, calls });
      for (const result of some) {
        const problem = problemOf(result);
        const name = `seed ${result.seed}, ${result.workload}, ${result.fault}`;
        if (problem !== null) say(`${name}: ${problem}`);
      }
      results.push(...some);
      if (round % 10 === 9) say(`${results.length} of ${histories} histories`);
    }
  } catch (error) {
    say(cluster.logs());
    throw error;
  } finally {
    await cluster.remove();
  }
  return results;
}

const sum = (list: readonly HistoryResult[], of: (one: HistoryResult) => number): number =>
  list.reduce((total, one) => total + of(one), 0);

function row(workload: string, fault: string, some: readonly HistoryResult[]): string {
  const planted = some.filter(({ staleRejected }) => staleRejected !== null);
  const numbers = [
    some.length,
    sum(some, (one) => one.calls),
    sum(some, (one) => one.duringFault),
    sum(some, (one) => one.unknown),
    Math.round(Math.max(0, ...some.map((one) => one.slowestMs))),
    sum(some, (one) => one.visited),
    `${planted.filter(({ staleRejected }) => staleRejected).length} of ${planted.length}`,
    some.filter(({ linearizable }) => !linearizable).length,
  ];
  return `| ${workload} | ${fault} | ${numbers.join(' | ')} |`;
}

function tableOf(results: readonly HistoryResult[]): string {
  const lines = [
    '| workload | fault | histories | calls | … during the fault | unknown | slowest answer, ms | configurations searched | stale rejected | violations |',
    '|---|---|---|---|---|---|---|---|---|---|',
  ];
  for (const workload of WORKLOADS) {
    for (const fault of FAULTS) {
      const some = results.filter((one) => one.workload === workload && one.fault === fault);
      if (some.length > 0) lines.push(row(workload, fault, some));
    }
  }
  return [...lines, row('all', 'all', results)].join('\n');
}

say(`seed ${seed}, ${histories} histories of ${calls} calls`);
const began = performance.now();
const results = await runAll();
const seconds = Math.round((performance.now() - began) / 1000);
const table = `${tableOf(results)}\n\n${seconds} s.`;
say(`\n${table}`);
const isFine = results.every((one) => problemOf(one) === null);
if (values.evidence) {
  writeEvidence({
    ...{ path: 'docs/evidence/linearizability.md', title: 'Linearizability of keys', about: ABOUT },
    command: `npm run linearizability -- --histories ${histories} --seed ${seed}`,
    ...{ table, passed: isFine },
  });
}
if (!isFine) process.exitCode = 1;
