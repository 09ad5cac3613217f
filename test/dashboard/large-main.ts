/**
 * `npm run dashboard:large -- --queues 10 --partitions 1000 --rate 500 [--screenshots DIR] [--evidence]`:
 * the dashboard of a follower of three nodes under live traffic, in Chromium. Prints per page the first
 * paint, when its data stood there and the longest task. Exit 1 above a second of first paint, on a
 * console error, or when data does not come.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ClusterProcesses, pause } from '../support/cluster-processes.js';
import { writeEvidence } from '../support/evidence.js';
import { chromiumPath, openBrowser } from './browser.js';
import { LiveTraffic, nameOf } from './live-traffic.js';
import { visit, type Visit } from './page-visit.js';

const { values } = parseArgs({
  options: {
    queues: { type: 'string', default: '10' },
    /** Of each queue. */
    partitions: { type: 'string', default: '1000' },
    rate: { type: 'string', default: '500' },
    rounds: { type: 'string', default: '3' },
    screenshots: { type: 'string' },
    evidence: { type: 'boolean', default: false },
  },
});
const FIRST_PAINT_MS = 1000;
/** Rows of the collector appear with its first flush. */
const FLUSH_MS = 2_000;
const PATHS = [
  ...['/', '/queues', `/queues/${nameOf(0)}`, `/messages?queue=${nameOf(0)}`, '/dlq', '/consumers'],
  ...['/workload', '/system', '/ephemeral', '/kv', `/timers?queue=${nameOf(0)}`, '/locks'],
  ...['/supervisors', '/traces', '/settings'],
];
const ABOUT = `Three nodes (real processes), queues of many partitions with steady pushes, pops and acks over all
nodes. Every page of the dashboard is opened on a follower in a new browser context (nothing cached), several times;
the median is shown. First paint: the browser's own first-contentful-paint. Data: no skeleton is left and the network
is done. Task: the longest time the page held its main thread.`;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
if (chromiumPath === undefined) throw new Error('no Chromium: set QUEEN_CHROMIUM');
if (values.screenshots !== undefined) mkdirSync(values.screenshots, { recursive: true });

const shape = {
  queues: Number(values.queues),
  partitions: Number(values.partitions),
  rate: Number(values.rate),
};
const median = (of: readonly number[]): number =>
  [...of].sort((a, b) => a - b)[of.length >> 1] ?? 0;

const cluster = await ClusterProcesses.start({ env: { METRICS_FLUSH_MS: String(FLUSH_MS) } });
const browser = await openBrowser(chromiumPath);
const traffic = new LiveTraffic(cluster, shape);
try {
  const leader = await cluster.leader(cluster.ids, 60_000);
  const follower = cluster.ids.find((id) => id !== leader) ?? leader;
  await traffic.createPartitions();
  traffic.start();
  await pause(2 * FLUSH_MS);
  const rows: string[] = [];
  const problems: string[] = [];
  for (const path of PATHS) {
    const visits: Visit[] = [];
    for (let round = 0; round < Number(values.rounds); round += 1) {
      const name = path === '/' ? 'overview' : path.slice(1).replace(/[^a-z0-9]+/g, '-');
      const shot = round === 0 && values.screenshots !== undefined;
      visits.push(
        await visit(browser, cluster.url(follower) + path, {
          screenshot: shot ? join(values.screenshots ?? '', `${name}.png`) : null,
        }),
      );
    }
    const of = (read: (one: Visit) => number): number => Math.round(median(visits.map(read)));
    const paint = of((one) => one.firstPaintMs);
    const faults = visits.flatMap((one) => one.faults);
    if (paint >= FIRST_PAINT_MS) problems.push(`${path}: first paint after ${paint} ms`);
    for (const fault of faults) problems.push(`${path}: ${fault}`);
    rows.push(
      `| ${path} | ${paint} | ${of((one) => one.dataMs)} | ${of((one) => one.refreshMs)} | ` +
        `${of((one) => one.longestTaskMs)} | ${of((one) => one.elements)} | ${faults.length} |`,
    );
    say(rows.at(-1) ?? '');
  }
  await traffic.stop();
  const table = [
    '| page | first paint ms | data ms | refresh ms | longest task ms | elements | errors |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
  const { pushed, acked, refused } = traffic;
  const load = `${shape.queues} queues of ${shape.partitions} partitions; ${pushed} messages pushed, ${acked} acknowledged meanwhile, ${refused} calls refused`;
  say(`${load}\n\n${table}`);
  for (const problem of problems) say(problem);
  const passed = problems.length === 0;
  if (values.evidence) {
    writeEvidence({
      ...{ path: 'docs/evidence/dashboard.md', title: 'The dashboard under live traffic' },
      ...{ about: ABOUT, table: `${load}\n\n${table}`, passed },
      command: `npm run dashboard:large -- --queues ${shape.queues} --partitions ${shape.partitions} --rate ${shape.rate}`,
    });
  }
  process.exitCode = passed ? 0 : 1;
} finally {
  await traffic.stop();
  await browser.close();
  await cluster.remove();
}
