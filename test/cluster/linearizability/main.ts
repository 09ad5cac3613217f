/**
 * `npm run linearizability -- --histories 200 --seed 7`: histories of every workload under every fault,
 * one after the other on one cluster. Prints the table for docs/evidence. Exit 1 when one of them
 * cannot be put in order.
 */
import { parseArgs } from 'node:util';
import { ClusterProcesses } from '../../support/cluster-processes.js';
import { FAULTS, HISTORY_ENV, HistoryRun, WORKLOADS } from './history-run.js';

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    calls: { type: 'string', default: '40' },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);

interface Sum {
  histories: number;
  calls: number;
  unknown: number;
  visited: number;
  violations: number;
}

async function main(): Promise<boolean> {
  const seed = Number(values.seed);
  const histories = Number(values.histories);
  const sums = new Map<string, Sum>();
  const cluster = await ClusterProcesses.start({ env: HISTORY_ENV });
  let violations = 0;
  say(`seed ${seed}, ${histories} histories`);
  try {
    for (let i = 0; i < histories; i += 1) {
      await cluster.leader(cluster.ids, 60_000);
      const workload = WORKLOADS[i % WORKLOADS.length] ?? 'register';
      const fault = FAULTS[Math.floor(i / WORKLOADS.length) % FAULTS.length] ?? 'none';
      const options = { workload, fault, seed: seed + i, callsPerClient: Number(values.calls) };
      const run = new HistoryRun(cluster, options);
      const { calls, unknown, visited, linearizable } = await run.run();
      const name = `${workload} | ${fault}`;
      const sum = sums.get(name) ?? {
        histories: 0,
        calls: 0,
        unknown: 0,
        visited: 0,
        violations: 0,
      };
      sums.set(name, {
        histories: sum.histories + 1,
        calls: sum.calls + calls,
        unknown: sum.unknown + unknown,
        visited: sum.visited + visited,
        violations: sum.violations + (linearizable ? 0 : 1),
      });
      if (linearizable) continue;
      violations += 1;
      say(`seed ${seed + i}, ${name}: NOT LINEARIZABLE\n${JSON.stringify(run.recorded)}`);
    }
  } finally {
    await cluster.remove();
  }
  say('\n| Workload | Fault | Histories | Calls | Unknown | Configurations | Violations |');
  say('|---|---|---|---|---|---|---|');
  for (const [name, sum] of sums) {
    const numbers = [sum.histories, sum.calls, sum.unknown, sum.visited, sum.violations];
    say(`| ${name} | ${numbers.join(' | ')} |`);
  }
  return violations === 0;
}

if (!(await main())) process.exitCode = 1;
