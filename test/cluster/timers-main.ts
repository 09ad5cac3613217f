/**
 * `npm run timers -- --timers 100000 --seconds 60 --kills 2`: many timers on three processes while leaders
 * are killed. Prints how late they fired as a table. Exit 1 on a violation.
 */
import { parseArgs } from 'node:util';
import { ClusterProcesses } from '../support/cluster-processes.js';
import { percentile, TimerRun } from './timer-run.js';

const { values } = parseArgs({
  options: {
    timers: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '60' },
    kills: { type: 'string', default: '2' },
  },
});
const SHARES = [0.5, 0.9, 0.99, 0.999, 1] as const;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const env = { QUEEN_HEAP_PCT: '0', QUEEN_KV_WRITE_RATE: '100000', QUEEN_KV_WRITE_BURST: '100000' };
const cluster = await ClusterProcesses.start({ env });
try {
  const report = await new TimerRun(cluster, {
    ...{ timers: Number(values.timers), seconds: Number(values.seconds) },
    ...{ kills: Number(values.kills), settleMs: 120_000 },
  }).run();
  say(
    '| scheduled | cancelled | fired | p50 ms | p90 ms | p99 ms | p99.9 ms | max ms | violations |',
  );
  say('|---|---|---|---|---|---|---|---|---|');
  const late = SHARES.map((share) => percentile(report.lateMs, share).toFixed(1)).join(' | ');
  const { scheduled, cancelled, fired, violations } = report;
  say(`| ${scheduled} | ${cancelled} | ${fired} | ${late} | ${violations.length} |`);
  for (const violation of violations.slice(0, 20)) say(violation);
  process.exitCode = violations.length > 0 ? 1 : 0;
} finally {
  await cluster.remove();
}
