/**
 * The commands `queen backup` and `queen restore`. Both print one line when they are done, one line to
 * the error output when they are not, and end with 0 or 1; with 2 when they were called wrongly.
 */
import { parseArgs } from 'node:util';
import { groupId } from '../common/ids.js';
import { formatHostPort } from '../config/addresses.js';
import { loadConfig } from '../config/index.js';
import { groupDirectory, GROUPS, openBackupTarget } from '../raft/index.js';
import { restoreGroups, writeBackup } from '../raft/index.js';

const DEFAULT_URL = 'http://127.0.0.1:6632';
const LOCAL_CLUSTER = 'local';
const DEFAULT_CLUSTER = 'cluster';

const USAGE = {
  backup: 'usage: queen backup --to DIR [--url URL] [--token TOKEN]',
  restore: 'usage: queen restore --from DIR',
} as const;
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/** Nothing was done. */
class UsageError extends Error {}

export async function runBackup(args: readonly string[]): Promise<void> {
  await run('backup', async () => {
    const { to, url: given, token: own } = optionsOf('backup', args, ['to', 'url', 'token']);
    if (to === undefined) throw new UsageError(USAGE.backup);
    const url = (given ?? DEFAULT_URL).replace(/\/+$/, '');
    const token = own ?? process.env['QUEEN_TOKEN'];
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const target = await openBackupTarget(to);
    try {
      const { indexes, sizeBytes } = await receiveGroups(url, headers, target.growing);
      await target.finish();
      return `backup of index ${indexes.join(', ')} in ${to}, ${sizeBytes} bytes`;
    } catch (error) {
      await target.discard();
      throw error;
    }
  });
}

interface Received {
  /** Applied index of every group. */
  readonly indexes: readonly number[];
  readonly sizeBytes: number;
}

async function receiveGroups(
  url: string,
  headers: Record<string, string>,
  directory: string,
): Promise<Received> {
  const indexes: number[] = [];
  let bytes = 0;
  // Group 0 last, beside the others: a backup that broke off is none.
  for (let id = (await groupsAt(url, headers)) - 1; id >= 0; id -= 1) {
    const { body } = await ask(`${url}/api/v1/system/backup?group=${id}`, headers);
    if (body === null) throw new Error(`${url} answered nothing`);
    const place = groupDirectory(directory, groupId(id));
    const { index, sizeBytes } = await writeBackup(place, body, [GROUPS]);
    indexes.unshift(index);
    bytes += sizeBytes;
  }
  return { indexes, sizeBytes: bytes };
}

/** Into QUEEN_RAFT_DIR, for the node and the replicator that the environment names. */
export async function runRestore(args: readonly string[]): Promise<void> {
  await run('restore', async () => {
    const { from } = optionsOf('restore', args, ['from']);
    if (from === undefined) throw new UsageError(USAGE.restore);
    const { config } = loadConfig(process.env);
    const { raft, server } = config;
    const own = raft.peers.find((peer) => peer.nodeId === raft.nodeId);
    const address = {
      raft: own === undefined ? null : formatHostPort(own.raft),
      http: own === undefined ? null : formatHostPort(own.http),
    };
    const indexes = await restoreGroups({
      ...{ from, directory: raft.dir, nodeId: raft.nodeId, groups: raft.groups },
      clusterId: raft.clustered ? (server.cellId ?? DEFAULT_CLUSTER) : LOCAL_CLUSTER,
      member: raft.clustered ? address : null,
    });
    return `restored index ${indexes.join(', ')} into ${raft.dir}; start node ${raft.nodeId} on it`;
  });
}

/** Raft groups of the node; a node of one does not list them. */
async function groupsAt(url: string, headers: Record<string, string>): Promise<number> {
  const response = await ask(`${url}/api/v1/raft/status`, headers);
  const { groups } = (await response.json()) as { groups?: readonly unknown[] };
  return groups?.length ?? 1;
}

async function ask(address: string, headers: Record<string, string>): Promise<Response> {
  const response = await fetch(address, { headers }).catch((error: unknown) => {
    throw new Error(`no answer from ${address}: ${causeOf(error)}`, { cause: error });
  });
  if (response.ok) return response;
  throw new Error(`${address} answered ${response.status}: ${await response.text()}`);
}

/** `fetch failed` alone tells nothing; what is below it does: one failure, or one for each address. */
function causeOf(error: unknown): string {
  const { message, cause, errors } = error as Error & { readonly errors?: readonly unknown[] };
  if (errors !== undefined) return errors.map(causeOf).join(', ');
  return cause === undefined ? message : causeOf(cause);
}

async function run(name: keyof typeof USAGE, work: () => Promise<string>): Promise<void> {
  try {
    process.stdout.write(`${await work()}\n`);
    process.exitCode = 0;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    process.stderr.write(`queen ${name}: ${text}\n`);
    process.exitCode = error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED;
  }
}

/** Both `--name VALUE` and `--name=VALUE`; nothing else may be there. */
function optionsOf<Name extends string>(
  command: keyof typeof USAGE,
  args: readonly string[],
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  try {
    const { values } = parseArgs({ args: [...args], options });
    const empty = names.find((name) => values[name] === '');
    if (empty !== undefined) throw new Error(`--${empty} is empty`);
    return values as Partial<Record<Name, string>>;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${why}\n${USAGE[command]}`, { cause: error });
  }
}
