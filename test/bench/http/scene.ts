/** The processes of a bench and where they live: one broker, one baseline, one temporary directory. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { processFigures } from './process-figures.js';
import { brokerCommand, freePort, ServerProcess } from './server-process.js';

const MIB = 1024 * 1024;
const MAX_WARNINGS = 4000;
const BOOT_MS = 300_000;

export interface SceneOptions {
  readonly parent: string | undefined;
  readonly profile: string | undefined;
  readonly nodeFlags: readonly string[];
  readonly brokerLog: string | undefined;
}

export class Scene {
  private readonly directory: string;
  private readonly nodeFlags: readonly string[];
  private readonly profile: string | undefined;
  /** Data directory of the broker. */
  readonly dataDirectory: string;
  private brokerPort = 0;
  private servers: ServerProcess[] = [];

  private readonly brokerLog: string;

  constructor({ parent, profile, nodeFlags, brokerLog }: SceneOptions) {
    this.directory = mkdtempSync(join(parent ?? tmpdir(), 'queen-bench-'));
    this.dataDirectory = join(this.directory, 'broker');
    if (profile !== undefined) mkdirSync(profile, { recursive: true });
    this.brokerLog = brokerLog ?? join(this.directory, 'broker.log');
    this.nodeFlags = nodeFlags;
    this.profile = profile;
  }

  /** Profiles of several nodes lie in directories of their own. */
  private profiling(node = ''): string[] {
    if (this.profile === undefined) return [];
    return ['--cpu-prof', `--cpu-prof-dir=${join(this.profile, node)}`];
  }

  /** Starts the broker on the scene's data directory; again after it was stopped or killed. */
  async broker(env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
    if (this.brokerPort === 0) this.brokerPort = await freePort();
    return this.keep(
      await ServerProcess.start(
        brokerCommand({
          directory: this.dataDirectory,
          port: this.brokerPort,
          logFile: this.brokerLog,
          nodeFlags: [...this.nodeFlags, ...this.profiling()],
          env,
        }),
        BOOT_MS,
      ),
    );
  }

  /** A cluster of its own, every node on its own directory; resolves when all of them are ready. */
  async cluster(size: number): Promise<readonly ServerProcess[]> {
    const places: { http: number; raft: number }[] = [];
    for (let i = 0; i < size; i += 1) {
      places.push({ http: await freePort(), raft: await freePort() });
    }
    const peers = places
      .map(({ http, raft }, i) => `${i + 1}=127.0.0.1:${raft}/127.0.0.1:${http}`)
      .join(',');
    const nodes = places.map(({ http, raft }, i) => {
      const env = {
        QUEEN_RAFT_REPLICATOR: 'raft',
        QUEEN_RAFT_NODE_ID: String(i + 1),
        QUEEN_RAFT_PEERS: peers,
        QUEEN_RAFT_LISTEN: `127.0.0.1:${raft}`,
        QUEEN_RAFT_TOKEN: 'bench',
      };
      const place = {
        directory: join(this.directory, `node-${i + 1}`),
        ...{ port: http, logFile: this.brokerLog, env },
        nodeFlags: [...this.nodeFlags, ...this.profiling(`node-${i + 1}`)],
      };
      return this.keep(ServerProcess.spawn(brokerCommand(place)));
    });
    await Promise.all(nodes.map((node) => node.ready(BOOT_MS)));
    return nodes;
  }

  async baseline(): Promise<ServerProcess> {
    const port = await freePort();
    return this.keep(
      await ServerProcess.start({
        args: [fileURLToPath(new URL('./baseline-server.js', import.meta.url))],
        env: { PORT: String(port) },
        port,
        readyPath: '/health',
        logFile: join(this.directory, 'baseline.log'),
      }),
    );
  }

  /** The server started last. */
  get running(): ServerProcess {
    const server = this.servers.at(-1);
    if (server === undefined) throw new Error('nothing was started');
    return server;
  }

  /** Ends what still runs and removes the data; answers what the broker warned of. */
  async close(): Promise<string> {
    const running = this.servers.filter(({ hasEnded }) => !hasEnded);
    for (const server of running) await server.stop();
    const isOurs = this.brokerLog.startsWith(this.directory) && existsSync(this.brokerLog);
    const warnings = isOurs ? readFileSync(this.brokerLog, 'utf8').slice(-MAX_WARNINGS) : '';
    rmSync(this.directory, { recursive: true, force: true });
    return warnings;
  }

  private keep(server: ServerProcess): ServerProcess {
    this.servers = [...this.servers.filter(({ hasEnded }) => !hasEnded), server];
    return server;
  }
}

export function rssMib(server: ServerProcess): number | null {
  const figures = processFigures(server.pid);
  return figures === null ? null : figures.rssBytes / MIB;
}
