/**
 * The commands `queen backup` and `queen restore`. Both print one line when they are done, one line to
 * the error output when they are not, and end with 0 or 1.
 */
import { rm } from 'node:fs/promises';
import { groupId } from '../common/ids.js';
import { formatHostPort } from '../config/addresses.js';
import { loadConfig } from '../config/index.js';
import { groupDirectory, GROUPS, restoreGroups, writeBackup } from '../raft/index.js';

const DEFAULT_URL = 'http://127.0.0.1:6632';
const LOCAL_CLUSTER = 'local';
const DEFAULT_CLUSTER = 'cluster';

export async function runBackup(args: readonly string[]): Promise<void> {
  await run('backup', async () => {
    const to = option(args, '--to');
    if (to === null) throw new Error('usage: queen backup --to DIR [--url URL] [--token TOKEN]');
    const url = option(args, '--url') ?? DEFAULT_URL;
    const token = option(args, '--token') ?? process.env['QUEEN_TOKEN'] ?? null;
    const headers = token === null ? {} : { authorization: `Bearer ${token}` };
    const indexes: number[] = [];
    let bytes = 0;
    const groups = await groupsAt(url, headers);
    if (groups > 1) await rm(to, { recursive: true, force: true });
    // Group 0 last, beside the others: a backup that broke off is none.
    for (let id = groups - 1; id >= 0; id -= 1) {
      const { body } = await ask(`${url}/api/v1/system/backup?group=${id}`, headers);
      if (body === null) throw new Error(`${url} answered nothing`);
      const { index, sizeBytes } = await writeBackup(groupDirectory(to, groupId(id)), body, GROUPS);
      indexes.unshift(index);
      bytes += sizeBytes;
    }
    return `backup of index ${indexes.join(', ')} in ${to}, ${bytes} bytes`;
  });
}

/** Into QUEEN_RAFT_DIR, for the node and the replicator that the environment names. */
export async function runRestore(args: readonly string[]): Promise<void> {
  await run('restore', async () => {
    const from = option(args, '--from');
    if (from === null) throw new Error('usage: queen restore --from DIR');
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
  const response = await fetch(address, { headers });
  if (response.ok) return response;
  throw new Error(`${address} answered ${response.status}: ${await response.text()}`);
}

async function run(name: string, work: () => Promise<string>): Promise<void> {
  try {
    process.stdout.write(`${await work()}\n`);
    process.exitCode = 0;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    process.stderr.write(`queen ${name}: ${text}\n`);
    process.exitCode = 1;
  }
}

function option(args: readonly string[], name: string): string | null {
  const at = args.indexOf(name);
  return at < 0 ? null : (args[at + 1] ?? null);
}
