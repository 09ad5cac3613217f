/**
 * What the simulator ran of the production code: functions entered per room and for the files that carry
 * the driver, the log, the store writer and the machine. Counted by V8 in the very process that simulates.
 */
import { Session } from 'node:inspector/promises';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { titleOf } from '../support/evidence-sections.mjs';

export const PAGE = 'docs/evidence/sim-coverage.md';

/** Longest prefix wins. */
const ROOMS = [
  ['raft/core', 'consensus'],
  ['raft/wal', 'write-ahead log'],
  ['raft/group', 'what a group of one and a cluster share'],
  ['raft/group/cluster', 'the driver: raft loop, packer, sessions, reads, pops'],
  ['machine', 'state machine'],
  ['coordinators', 'dispatcher and sweepers'],
];

const FILES = [
  'raft/group/cluster/raft-loop',
  'raft/group/cluster/persist-queue',
  'raft/group/cluster/cluster-group',
  'raft/group/cluster/entry-packer',
  'raft/group/cluster/read-rounds',
  'raft/group/state-side',
  'raft/group/apply-loop',
  'raft/group/checkpointer',
  'raft/wal/wal',
  'raft/wal/wal-writer',
  'raft/wal/recovery',
  'machine/queen-machine',
  'machine/apply/push',
  'machine/apply/claim',
  'machine/apply/ack',
];

export async function startCoverage() {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  return session;
}

/** Rows of the two tables; `base` is the URL of the directory that holds the transpiled sources. */
export async function takeCoverage(session, base) {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  const files = new Map();
  for (const { url, functions } of result) {
    if (!url.startsWith(base)) continue;
    // The first one is the module itself, which runs when it is imported.
    const own = functions.slice(1);
    const entered = own.filter(({ ranges }) => ranges[0].count > 0).length;
    files.set(url.slice(base.length).replace(/\.js$/, ''), { entered, all: own.length });
  }
  return files;
}

export function coverageTables(files) {
  const rooms = new Map(ROOMS.map(([room]) => [room, { files: 0, entered: 0, all: 0 }]));
  for (const [file, { entered, all }] of files) {
    const room = ROOMS.map(([name]) => name)
      .filter((name) => file.startsWith(`${name}/`))
      .sort((a, b) => b.length - a.length)[0];
    const sum = rooms.get(room);
    if (sum === undefined || all === 0) continue;
    sum.files += 1;
    sum.entered += entered;
    sum.all += all;
  }
  const share = ({ entered, all }) => (all === 0 ? '-' : `${((100 * entered) / all).toFixed(0)} %`);
  const byRoom = ROOMS.map(([room, what]) => {
    const sum = rooms.get(room);
    return `| src/${room} | ${what} | ${sum.files} | ${sum.entered} of ${sum.all} | ${share(sum)} |`;
  });
  const byFile = FILES.map((file) => {
    const one = files.get(file);
    if (one === undefined) return `| src/${file}.ts | not loaded | 0 % |`;
    return `| src/${file}.ts | ${one.entered} of ${one.all} | ${share(one)} |`;
  });
  return [
    '| room | | files loaded | functions entered | share |',
    '|---|---|---|---|---|',
    ...byRoom,
    '',
    '| file | functions entered | share |',
    '|---|---|---|',
    ...byFile,
  ].join('\n');
}

/** Files the simulator must have entered; what is missing makes the run fail. */
export function neverEntered(files) {
  return FILES.filter((file) => !((files.get(file)?.entered ?? 0) > 0));
}

export function writeCoverage(table, { command, passed }) {
  const git = (...args) => spawnSync('git', args, { encoding: 'utf8' }).stdout.trim();
  const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
  const about =
    'Functions of the production sources that the group simulator entered, counted by V8 in the process\n' +
    'that simulates. `checkpointer.ts` is the store writer; the store below it is a double in memory, and so\n' +
    'are clock, network and file port.';
  const run = `\`${command}\`, commit ${git('rev-parse', '--short', 'HEAD')}, ${date} UTC`;
  mkdirSync('docs/evidence', { recursive: true });
  writeFileSync(
    PAGE,
    `# ${titleOf({ title: 'What the simulator runs', passed })}\n\n${about}\n\n${run}\n\n${table}\n`,
  );
}
