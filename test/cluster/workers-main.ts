/**
 * `npm run workers -- --partitions 1000 --messages 200 --faults 20`: twenty workers of three groups on
 * three processes under random kills and restarts. Prints a table; exit 1 on a violation.
 */
import { parseArgs } from 'node:util';
import { ClusterProcesses } from '../support/cluster-processes.js';
import { WorkersRun } from './workers-run.js';

const { values } = parseArgs({
  options: {
    partitions: { type: 'string', default: '1000' },
    /** Per partition. */
    messages: { type: 'string', default: '200' },
    faults: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
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
  say('| pushed | deliveries | acks | faults | dead letters | seconds | violations |');
  say('|---|---|---|---|---|---|---|');
  say(
    `| ${pushed} | ${deliveries} | ${acks} | ${faults.length} | ${deadLetters} | ` +
      `${seconds.toFixed(0)} | ${violations.length} |`,
  );
  for (const violation of violations) say(violation);
  process.exitCode = violations.length > 0 ? 1 : 0;
} finally {
  await cluster.remove();
}
