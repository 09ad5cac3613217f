/**
 * `npm run backup-load -- --rate 20000 --seconds 20 [--batch 100] [--bound-ms 1000] [--evidence]`: a backup
 * of a node under that load, as a table; docs/evidence/backup.md with --evidence. Exit 1 when a digest
 * differs, when the rate was not held, or when a push waited for longer than the bound.
 */
import { parseArgs } from 'node:util';
import { writeEvidence } from '../support/evidence.js';
import { backupUnderLoad } from './backup-run.js';

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '20000' },
    seconds: { type: 'string', default: '20' },
    batch: { type: 'string', default: '100' },
    'bound-ms': { type: 'string', default: '1000' },
    evidence: { type: 'boolean', default: false },
  },
});
/** Share of the rate that counts as held. */
const HELD = 0.95;
const ABOUT = `A single node takes pushes of one batch each at an even rate, open loop (a push leaves at its time, answered or
not), 200 bytes a message over 64 partitions. \`queen backup\` runs in the middle. The backup is restored and loaded; the source's own
log is replayed from its first entry: at the backup's index all three digests must be equal.`;

const rate = Number(values.rate);
const seconds = Number(values.seconds);
const batch = Number(values.batch);
const boundMs = Number(values['bound-ms']);
const report = await backupUnderLoad({ perSecond: rate, batch, seconds });
const ms = (value: number): string => value.toFixed(0);
const isSame =
  report.sourceDigest === report.backupDigest && report.restoredDigest === report.backupDigest;
const isHeld = report.perSecond >= rate * HELD;
const table = [
  '| messages | messages/s | backup s | index | digest of source, backup, restored | push p99 before ms | during | slowest before ms | during |',
  '|---|---|---|---|---|---|---|---|---|',
  `| ${report.pushed} | ${ms(report.perSecond)} | ${report.backupSeconds.toFixed(1)} | ${report.index} | ${isSame ? `${report.backupDigest}, all equal` : `DIFFER: ${report.sourceDigest}, ${report.backupDigest}, ${report.restoredDigest}`} | ${ms(report.p99BeforeMs)} | ${ms(report.p99DuringMs)} | ${ms(report.slowestBeforeMs)} | ${ms(report.slowestDuringMs)} |`,
].join('\n');
process.stdout.write(`${table}\n`);
const passed = isSame && isHeld && report.slowestDuringMs <= boundMs;
if (values.evidence) {
  writeEvidence({
    ...{ path: 'docs/evidence/backup.md', title: 'Backup under load', about: ABOUT },
    command: `npm run backup-load -- --rate ${rate} --seconds ${seconds} --batch ${batch}`,
    ...{ table, passed },
  });
}
process.exitCode = passed ? 0 : 1;
