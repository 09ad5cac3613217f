/**
 * The commands `queen backup` and `queen restore`. Both print one line when they are done, one line to
 * the error output when they are not, and end with 0 or 1.
 */
import { formatHostPort } from '../config/addresses.js';
import { loadConfig } from '../config/index.js';
import { restoreSnapshot, writeBackup } from '../raft/index.js';

const DEFAULT_URL = 'http://127.0.0.1:6632';
const LOCAL_CLUSTER = 'local';
const DEFAULT_CLUSTER = 'cluster';

export async function runBackup(args: readonly string[]): Promise<void> {
  await run('backup', async () => {
    const to = option(args, '--to');
    if (to === null) throw new Error('usage: queen backup --to DIR [--url URL] [--token TOKEN]');
    const url = option(args, '--url') ?? DEFAULT_URL;
    const token = option(args, '--token') ?? process.env['QUEEN_TOKEN'] ?? null;
    const response = await fetch(`${url}/api/v1/system/backup`, {
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
    });
    if (!response.ok || response.body === null) {
      throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
    }
    const { index, sizeBytes } = await writeBackup(to, response.body);
    return `backup of index ${index} in ${to}, ${sizeBytes} bytes`;
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
    const { appliedIndex } = await restoreSnapshot({
      ...{ from, directory: raft.dir, nodeId: raft.nodeId },
      clusterId: raft.clustered ? (server.cellId ?? DEFAULT_CLUSTER) : LOCAL_CLUSTER,
      member: raft.clustered ? address : null,
    });
    return `restored index ${appliedIndex} into ${raft.dir}; start node ${raft.nodeId} on it`;
  });
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
