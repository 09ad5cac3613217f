/**
 * `queen verify`: checks a data directory that no broker runs in, or a backup, group by group under the
 * locks of all of them. Nothing in it is changed; what has to be written goes to a scratch elsewhere,
 * which is removed at the end.
 */
import { mkdtemp, readdir, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import type { DirectoryLock } from '../directory-lock.js';
import { groupDirectory, GROUPS, readGroupCount } from '../group-directories.js';
import { groupIds } from '../group-options.js';
import { groupsOf } from '../snapshot/restore-groups.js';
import { isMissing } from '../wal/index.js';
import { Findings, VerifyRefusal } from './finding.js';
import { lockQuietly } from './quiet-lock.js';
import { isBackup, verifyBackup, verifyGroup, type GroupReport } from './verify-group.js';

export interface VerifyOptions {
  readonly directory: string;
  /** Where the scratch is made; the temp directory when absent. */
  readonly scratchIn?: string;
  /** Tells the digest after this entry too, where the replay comes by. */
  readonly at?: number;
  /** Called as each group is done. */
  readonly done?: (report: GroupReport) => void;
}

export interface VerifyReport {
  readonly directory: string;
  readonly kind: 'data' | 'backup';
  readonly isSound: boolean;
  readonly groups: readonly GroupReport[];
}

/** Names a data directory has; an empty one, or one of something else, is refused. */
const OWN_NAMES: ReadonlySet<string> = new Set(['identity', 'wal', 'store', 'checkpoint', GROUPS]);

/** Throws DirectoryLocked and VerifyRefusal; system errors pass through. */
export async function verifyDirectory(options: VerifyOptions): Promise<VerifyReport> {
  const { directory } = options;
  const names = await namesIn(directory);
  if (names === null) throw new VerifyRefusal(`${directory} is no directory`);
  const kind = (await isBackup(directory)) ? 'backup' : 'data';
  if (kind === 'data' && !names.some((name) => OWN_NAMES.has(name))) {
    throw new VerifyRefusal(`${directory} is neither a data directory nor a backup`);
  }
  const scratch = await makeScratch(directory, options.scratchIn ?? tmpdir());
  try {
    const groups =
      kind === 'backup' ? await backupGroups(options, scratch) : await dataGroups(options, scratch);
    return { directory, kind, isSound: groups.every(({ isSound }) => isSound), groups };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Never inside what is verified. */
async function makeScratch(directory: string, parent: string): Promise<string> {
  const [verified, place] = [await realpath(directory), await realpath(parent)];
  if (place === verified || place.startsWith(verified + sep)) {
    throw new VerifyRefusal(`the scratch cannot be made inside ${directory}: name another place`);
  }
  return mkdtemp(join(place, 'queen-verify-'));
}

async function dataGroups(options: VerifyOptions, scratch: string): Promise<GroupReport[]> {
  const { directory } = options;
  const root = new Findings(0);
  const count = await root.during(() => readGroupCount(directory));
  const ids = groupIds(count ?? 1);
  const locks: DirectoryLock[] = [];
  const reports: GroupReport[] = [];
  try {
    for (const id of ids) {
      const place = groupDirectory(directory, id);
      const note = (line: string): void => root.noted(line);
      locks.push(await lockQuietly(place, join(scratch, `lock-${id}`), note));
    }
    for (const id of ids) {
      const report = await verifyGroup({
        ...{ group: id, directory: groupDirectory(directory, id) },
        ...{ scratch: join(scratch, `group-${id}`), at: options.at ?? null },
      });
      reports.push(told(options, id === 0 ? withRoot(report, root) : report));
      await rm(join(scratch, `group-${id}`), { recursive: true, force: true });
    }
  } finally {
    for (const lock of locks) await lock.release();
  }
  return reports;
}

async function backupGroups(options: VerifyOptions, scratch: string): Promise<GroupReport[]> {
  const { directory } = options;
  const reports: GroupReport[] = [];
  for (const id of groupIds(await groupsOf(directory))) {
    const place = join(scratch, `group-${id}`);
    const report = await verifyBackup({
      ...{ group: id, directory: groupDirectory(directory, id) },
      ...{ scratch: place, at: options.at ?? null },
    });
    reports.push(told(options, report));
    await rm(place, { recursive: true, force: true });
  }
  return reports;
}

function withRoot(report: GroupReport, root: Findings): GroupReport {
  return {
    ...report,
    isSound: report.isSound && root.damages === 0,
    findings: [...root.list, ...report.findings],
  };
}

function told({ done }: VerifyOptions, report: GroupReport): GroupReport {
  done?.(report);
  return report;
}

/** Null: there is no such directory. */
async function namesIn(directory: string): Promise<string[] | null> {
  try {
    if (!(await stat(directory)).isDirectory()) return null;
    return await readdir(directory);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
