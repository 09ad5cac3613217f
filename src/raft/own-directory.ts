/**
 * The first look at a data directory, before anything is made or locked in it. Without `identity` nobody
 * ever served from it: then it may hold what an interrupted first start leaves and what a volume brings
 * along, and everything else is refused, a backup above all, whose log a start would write over.
 */
import { join } from 'node:path';
import { makeDirectory, namesIn } from '../storage/index.js';
import { COUNT_FILE, GROUPS } from './group-directories.js';
import { isThere } from './is-there.js';
import { DESCRIPTOR_FILE } from './snapshot/descriptor.js';
import { IDENTITY_FILE } from './wal/index.js';

/**
 * What a start makes before `identity`; the charts' rows, which outlive a wiped node; the nodes of
 * `npm run cluster`, which lie below the directory of `npm start`.
 */
const OWN: ReadonlySet<string> = new Set([
  ...['lock', `${IDENTITY_FILE}.tmp`, COUNT_FILE, `${COUNT_FILE}.tmp`, GROUPS],
  ...['analytics', 'cluster'],
]);

/** There from before the first byte of a restore until it is whole. */
export const RESTORING_FILE = 'restore.unfinished';

/** A fresh volume is not quite empty: `lost+found`, `.snapshot` and the like. */
export function isOfVolume(name: string): boolean {
  return name === 'lost+found' || name.startsWith('.');
}

/** Makes the directory when it is absent. Throws when a node must not start on it. */
export async function claimDirectory(directory: string): Promise<void> {
  await makeDirectory(directory);
  await refuseHalfRestored(directory);
  const foreign = await foreignNames(directory);
  if (foreign.length === 0) return;
  // Another process may be making it: its identity came after the list of names.
  if (await isThere(join(directory, IDENTITY_FILE))) return;
  if (foreign.includes(DESCRIPTOR_FILE)) {
    throw new Error(
      `QUEEN_RAFT_DIR=${directory} is a backup, no data directory. Make one from it: ` +
        `QUEEN_RAFT_DIR=<an empty directory> queen restore --from ${directory}`,
    );
  }
  const isLost = foreign.includes('wal') || foreign.includes('store');
  throw new Error(
    `QUEEN_RAFT_DIR=${directory} has no file ${IDENTITY_FILE} and is not empty (${some(foreign)}): ` +
      (isLost
        ? `if it is the data of a node, it has lost that file: put back all of it from one copy, or ` +
          'in a cluster replace the node (remove the member, empty the directory, let it join again)'
        : 'nothing here was made by a node. Name an empty directory, or one of its own below it'),
  );
}

/** Also asked under the lock. A start would take it for a new directory, and serve an empty broker. */
export async function refuseHalfRestored(directory: string): Promise<void> {
  if (!(await isThere(join(directory, RESTORING_FILE)))) return;
  throw new Error(
    `QUEEN_RAFT_DIR=${directory} was only partly restored (it holds ${RESTORING_FILE}): empty it and ` +
      'run queen restore again',
  );
}

async function foreignNames(directory: string): Promise<string[]> {
  const names = await namesIn(directory);
  if (names.includes(IDENTITY_FILE)) return [];
  return names.filter((name) => !OWN.has(name) && !isOfVolume(name)).sort();
}

function some(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')}, …` : names.join(', ');
}
