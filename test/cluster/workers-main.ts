/**
 * `npm run workers -- --partitions 1000 --messages 200 --faults 20 [--evidence]`: twenty workers of three
 * groups on three processes under random kills and restarts. Prints a table and writes
 * docs/evidence/workers.md with --evidence; exit 1 on a violation.
 */
import { parseArgs } from 'node:util';
import { ClusterProcesses } from '../support/cluster-processes.js';
import { writeEvidence } from '../support/evidence.js';
import { WorkersRun } from './workers-run.js';

const { values } = parseArgs({
  options: {
    partitions: { type: 'string', default: '1000' },
    /** Per partition. */
    messages: { type: 'string', default: '200' },
    faults: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    evidence: { type: 'boolean', default: false },
  },
});
const ABOUT = `Three real processes; four producers push numbered messages to every partition, twenty workers of three
groups settle them through random nodes, one message of 37 as a dead letter. Nodes are killed with SIGKILL or stopped
with SIGTERM at random moments and started again. Checked for every group and partition while it runs: each delivery
begins where the group stands, without a gap, and nothing comes again that was acknowledged; in the end: every message
was delivered and settled, and the dead letters are exactly those that were named, once for each group.`;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const cluster = await ClusterProcesses.start();
try {
  say(`seed ${values.seed}`);
  const report = await new WorkersRun(cluster, {
    partitions: Number(values.partitions),
    messagesPerPartition: Number(values.messages),
    ...{ faults: Number(values.faults), seed: Number(values.seed), settleMs: 300_000 },
  }).run();
  const { pushed, deliveries, acks, faults, deadLetters, violations, seconds } = report;
  const table = [
    '| pushed | deliveries | acks | faults | dead letters | seconds | violations |',
    '|---|---|---|---|---|---|---|',
    `| ${pushed} | ${deliveries} | ${acks} | ${faults.length} | ${deadLetters} | ` +
      `${seconds.toFixed(0)} | ${violations.length} |`,
  ].join('\n');
  say(table);
  const passed = violations.length === 0;
  if (values.evidence) {
    const { partitions, messages, faults: wanted, seed } = values;
    writeEvidence({
      ...{ path: 'docs/evidence/workers.md', title: 'Twenty workers under faults', about: ABOUT },
      command: `npm run workers -- --partitions ${partitions} --messages ${messages} --faults ${wanted} --seed ${seed}`,
      ...{ table: [table, '', `Faults in order: ${faults.join(', ')}.`].join('\n'), passed },
    });
  }
  for (const violation of violations) say(violation);
  process.exitCode = passed ? 0 : 1;
} finally {
  await cluster.remove();
}
