/**
 * `npm run timers -- --timers 100000 --seconds 60 --kills 2 [--evidence]`: many timers on three processes
 * while leaders are killed. Prints how late they fired as a table and writes docs/evidence/timers.md with
 * --evidence. Exit 1 on a violation.
 */
import { parseArgs } from 'node:util';
import { ClusterProcesses } from '../support/cluster-processes.js';
import { writeEvidence } from '../support/evidence.js';
import { percentile, TimerRun } from './timer-run.js';

const { values } = parseArgs({
  options: {
    timers: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '60' },
    kills: { type: 'string', default: '2' },
    'lead-seconds': { type: 'string' },
    evidence: { type: 'boolean', default: false },
  },
});
const SHARES = [0.5, 0.9, 0.99, 0.999, 1] as const;
/** Scheduling at least this many a second leaves time before the first is due. */
const LEAST_SCHEDULED_PER_SECOND = 1_000;
/** Of the span asked for; less means that timers were scheduled after they should have been due. */
const LEAST_SPAN = 0.9;
const ABOUT = `Timers on three nodes (real processes), scheduled over all of them in calls of 200, due evenly over the span;
leaders are killed with SIGKILL in between and started again. A tenth is cancelled, half of those while timers fire.
Every timer that was not cancelled has to be there exactly once, none before the instant its schedule answered, none
whose cancel answered \`cancelled\`. Late: from that instant to the stamp of the message, on the log's clock; what is
due while there is no leader waits for the next one.`;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const timers = Number(values.timers);
const seconds = Number(values.seconds);
const kills = Number(values.kills);
const leadSeconds = Number(values['lead-seconds'] ?? 5 + timers / LEAST_SCHEDULED_PER_SECOND);

const env = { QUEEN_HEAP_PCT: '0', QUEEN_KV_WRITE_RATE: '100000', QUEEN_KV_WRITE_BURST: '100000' };
const cluster = await ClusterProcesses.start({ env });
try {
  const report = await new TimerRun(cluster, {
    ...{ timers, seconds, kills, leadMs: leadSeconds * 1000, settleMs: 120_000 },
  }).run();
  const { scheduled, cancelled, fired, lateMs, spanSeconds } = report;
  const violations = [...report.violations];
  if (spanSeconds < seconds * LEAST_SPAN) violations.push(`due over ${spanSeconds} s only`);
  const late = SHARES.map((share) => percentile(lateMs, share).toFixed(1)).join(' | ');
  const table = [
    '| scheduled | … in s | due over s | leader kills | cancelled | fired | late p50 ms | p90 | p99 | p99.9 | max | violations |',
    '|---|---|---|---|---|---|---|---|---|---|---|---|',
    `| ${scheduled} | ${report.scheduleSeconds.toFixed(1)} | ${spanSeconds.toFixed(1)} | ${kills} | ${cancelled} | ${fired} | ${late} | ${violations.length} |`,
  ].join('\n');
  say(table);
  for (const violation of violations.slice(0, 20)) say(violation);
  const passed = violations.length === 0;
  if (values.evidence) {
    writeEvidence({
      ...{ path: 'docs/evidence/timers.md', title: 'Timers over leader kills', about: ABOUT },
      command: `npm run timers -- --timers ${timers} --seconds ${seconds} --kills ${kills}`,
      ...{ table, passed },
    });
  }
  process.exitCode = passed ? 0 : 1;
} finally {
  await cluster.remove();
}
