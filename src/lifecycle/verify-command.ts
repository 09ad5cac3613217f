/**
 * The command `queen verify DIR`: checks a data directory of a stopped node, or a backup, and changes
 * nothing in it. One line per finding, one per raft group, one at the end; `--json` prints one document.
 *
 *   exit code  0 sound   1 damaged   2 nothing was verified (usage, a broker runs in it, no access)
 */
import { parseArgs } from 'node:util';
import { ENV_TABLE } from '../config/table.js';
import { verifyDirectory, type GroupReport, type VerifyReport } from '../raft/index.js';

const USAGE = 'usage: queen verify [DIR] [--json] [--at INDEX] [--scratch DIR]';
const EXIT_DAMAGED = 1;
const EXIT_UNVERIFIED = 2;

interface Wanted {
  readonly directory: string;
  readonly json: boolean;
  readonly at: number | undefined;
  readonly scratchIn: string | undefined;
}

export async function runVerify(args: readonly string[]): Promise<void> {
  try {
    const { directory, json, at, scratchIn } = wantedOf(args);
    const report = await verifyDirectory({
      directory,
      ...(at === undefined ? {} : { at }),
      ...(scratchIn === undefined ? {} : { scratchIn }),
      ...(json ? {} : { done: (group: GroupReport) => print(linesOf(group)) }),
    });
    print(json ? [JSON.stringify(report, null, 2)] : [lastLine(report)]);
    process.exitCode = report.isSound ? 0 : EXIT_DAMAGED;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    process.stderr.write(`queen verify: ${text}\n`);
    process.exitCode = EXIT_UNVERIFIED;
  }
}

function wantedOf(args: readonly string[]): Wanted {
  const { values, positionals } = parsed(args);
  const directory = positionals[0] ?? defaultDirectory();
  const at = values.at === undefined ? undefined : Number(values.at);
  const isIndex = at === undefined || (Number.isSafeInteger(at) && at > 0);
  if (directory === '' || positionals.length > 1 || !isIndex) throw new Error(USAGE);
  return { directory, json: values.json ?? false, at, scratchIn: values.scratch };
}

/** That of start, restore and repair; other settings of the node need not be right to look at its data. */
function defaultDirectory(): string {
  return process.env['QUEEN_RAFT_DIR'] ?? ENV_TABLE.raft.dir.fallback;
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        json: { type: 'boolean' },
        at: { type: 'string' },
        scratch: { type: 'string' },
      },
    });
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`, {
      cause: error,
    });
  }
}

function linesOf(report: GroupReport): string[] {
  const { group, findings, checkpoint, end, at, log, read, uncommitted } = report;
  const lines = findings.map(({ severity, text }) => {
    return `${severity === 'damage' ? 'DAMAGE' : 'note'} group ${group}: ${text}`;
  });
  const from = `group ${group}:`;
  lines.push(
    `${from} read ${read.segments} sealed segments (${read.segmentBytes} bytes), ` +
      `a store of ${read.tables} tables and its log (${read.tableBytes} bytes), ${read.rows} rows, ` +
      `${read.messages} messages, ${read.deadLetters} dead letters, ${read.timers} timers`,
  );
  if (log !== null) {
    const { firstIndex, lastIndex, term, vote, commit } = log;
    lines.push(
      `${from} log ${firstIndex}..${lastIndex} term ${term} vote ${vote} commit ${commit}`,
    );
  }
  for (const [name, moment] of Object.entries({ checkpoint, at, state: end })) {
    if (moment === null) continue;
    const { index, term, digest } = moment;
    lines.push(`${from} ${name} index ${index} term ${term} digest ${digest}`);
  }
  if (uncommitted > 0) {
    lines.push(`${from} ${uncommitted} entries after that are not known to be committed`);
  }
  return lines;
}

function lastLine({ directory, kind, groups }: VerifyReport): string {
  const damages = groups.flatMap(({ findings }) => findings).filter((f) => f.severity === 'damage');
  const what = kind === 'backup' ? 'backup' : 'data directory';
  if (damages.length === 0) return `sound: ${what} ${directory}`;
  return `damaged: ${what} ${directory}, ${damages.length} findings`;
}

function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}
