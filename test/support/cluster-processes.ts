/**
 * A cluster of real broker processes on loopback for tests: free ports, directories of its own, logs
 * kept in memory. Everything is killed by pid when the test ends, whatever happened.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve as absolute } from 'node:path';
import { FaultMesh, type Endpoint } from './fault-proxy.js';

const TOKEN = 'test-token';
/** What has to come, and is not measured: a start or a stop on a machine that is busy with other things. */
const PATIENCE_MS = 180_000;
const MAX_LOG_BYTES = 1024 * 1024;
const FIRST_PORT = 20_000;
const PORTS = 12_000;
/** A received snapshot waits. */
const EXIT_RELOAD = 75;

export interface Health {
  readonly status: number;
  readonly role: string;
  readonly leader: boolean;
  readonly term: number;
  readonly applied: number;
  readonly commit: number;
  readonly quorumAckMs: number | null;
  readonly clusterVersion: number;
  readonly kinds: number;
  readonly apply: {
    readonly failure: {
      readonly class: string;
      readonly index: number;
      readonly error: string;
    } | null;
  };
}

export interface NodePorts {
  readonly http: number;
  readonly raft: number;
}

export interface ClusterOptions {
  readonly size?: number;
  /** QUEEN_RAFT_GROUPS; group N listens on raft port + N. */
  readonly groups?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** A fault proxy between every two raft ports: `cluster.mesh`. */
  readonly faulty?: boolean;
  /** Where bin/ and dist/ of the build lie; the repository when absent. */
  readonly root?: string;
}

class BrokerProcess {
  private child: ChildProcess | null = null;
  log = '';
  /** Characters written in all; `since` takes it as a mark. */
  logged = 0;
  /** Times it ended to load a snapshot, and was started again as a watcher would. */
  reloads = 0;

  private prefix: readonly string[] = [];

  constructor(
    private root: string,
    private env: Readonly<Record<string, string>>,
    readonly ports: NodePorts,
  ) {}

  /** A command that becomes the node (nsenter, say), for the starts from now on. */
  setPrefix(prefix: readonly string[]): void {
    this.prefix = prefix;
  }

  /** Where the build lies, for the starts from now on. */
  setRoot(root: string): void {
    this.root = root;
  }

  /** What the next start gets besides the environment of this process. */
  get environment(): Readonly<Record<string, string>> {
    return this.env;
  }

  /** For the starts from now on. */
  setEnv(more: Readonly<Record<string, string>>): void {
    this.env = { ...this.env, ...more };
  }

  get pid(): number {
    if (this.child?.pid === undefined) throw new Error('the node is not running');
    return this.child.pid;
  }

  get isRunning(): boolean {
    return this.child !== null;
  }

  start(): void {
    const node = [process.execPath, join(this.root, 'bin', 'queen.cjs')];
    const [command = '', ...args] = [...this.prefix, ...node];
    const child = spawn(command, args, {
      env: { ...process.env, ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    const keep = (chunk: Buffer): void => {
      const text = chunk.toString();
      this.logged += text.length;
      this.log = (this.log + text).slice(-MAX_LOG_BYTES);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.once('exit', (code) => {
      if (this.child !== child) return;
      this.child = null;
      if (code !== EXIT_RELOAD) return;
      this.reloads += 1;
      this.start();
    });
  }

  /** A command of the CLI with this node's settings. */
  async command(args: readonly string[]): Promise<{ code: number | null; output: string }> {
    const child = spawn(process.execPath, [join(this.root, 'bin', 'queen.cjs'), ...args], {
      env: { ...process.env, ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const keep = (chunk: Buffer): void => void (output += chunk.toString());
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    return new Promise((resolve) => {
      child.once('close', (code) => resolve({ code, output }));
    });
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name);
  }

  /** Lines logged after the mark, as far as they are kept. */
  since(mark: number): string[] {
    const fresh = this.logged - mark;
    return fresh === 0 ? [] : lines(this.log.slice(-fresh));
  }

  /** Resolves with the exit code, or null when a signal ended it. */
  async ended(withinMs = PATIENCE_MS): Promise<number | null> {
    const { child } = this;
    if (child === null) return 0;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the node did not end in time')), withinMs);
      child.once('exit', (code) => {
        clearTimeout(timer);
        resolve(code);
      });
    });
  }

  /** Resolves with the exit code, or with the name of the signal that ended it. */
  async endedBy(withinMs = PATIENCE_MS): Promise<number | NodeJS.Signals | null> {
    const { child } = this;
    const code = await this.ended(withinMs);
    return code ?? child?.signalCode ?? null;
  }

  killNow(): void {
    this.child?.kill('SIGKILL');
  }
}

export class ClusterProcesses {
  private constructor(
    readonly directory: string,
    private readonly nodes: Map<number, BrokerProcess>,
    private readonly faulty: FaultMesh | null,
    private readonly root: string,
    private readonly env: Readonly<Record<string, string>>,
  ) {}

  static async start(options: ClusterOptions = {}): Promise<ClusterProcesses> {
    const root = absolute(options.root ?? '.');
    if (!existsSync(join(root, 'dist', 'main.js'))) throw new Error('run "npm run build" first');
    const directory = await mkdtemp(join(tmpdir(), 'queen-processes-'));
    const size = options.size ?? 3;
    const ports: NodePorts[] = [];
    const groups = options.groups ?? 1;
    for (let i = 0; i < size; i += 1)
      ports.push({ http: await freePort(), raft: await freePorts(groups) });
    const mesh = options.faulty === true ? await FaultMesh.start(raftEndpoints(ports)) : null;
    const nodes = new Map<number, BrokerProcess>();
    ports.forEach((own, i) => {
      const byId = new Map(ports.map((one, at) => [at + 1, one]));
      const env = nodeEnv({ id: i + 1, ports: byId, directory, mesh });
      const more = { QUEEN_RAFT_GROUPS: String(groups), ...options.env };
      nodes.set(i + 1, new BrokerProcess(root, { ...env, ...more }, own));
    });
    const env = { QUEEN_RAFT_GROUPS: String(groups), ...options.env };
    const cluster = new ClusterProcesses(directory, nodes, mesh, root, env);
    for (const node of nodes.values()) node.start();
    return cluster;
  }

  /** Starts one more node on an empty directory; it waits to be added. Not with `faulty`. */
  async join(
    id: number,
    more: Readonly<Record<string, string>> = {},
    build = this.root,
  ): Promise<BrokerProcess> {
    const known = this.nodes.get(id);
    const groups = Number(this.env['QUEEN_RAFT_GROUPS'] ?? 1);
    const ports = known?.ports ?? { http: await freePort(), raft: await freePorts(groups) };
    const peers = new Map([...this.nodes].map(([other, node]) => [other, node.ports]));
    peers.set(id, ports);
    const { directory } = this;
    const env = nodeEnv({ id, ports: peers, directory, mesh: null });
    const node = new BrokerProcess(
      build,
      { ...env, ...this.env, QUEEN_RAFT_JOIN: 'true', ...more },
      ports,
    );
    this.nodes.set(id, node);
    node.start();
    return node;
  }

  directoryOf(id: number): string {
    return join(this.directory, `n${id}`);
  }

  /** The directory of a node that is not running is emptied. */
  async wipe(id: number): Promise<void> {
    await rm(this.directoryOf(id), { recursive: true, force: true });
  }

  /** New ports for every node, none of which runs; the result swaps them. Not with `faulty`. */
  async readdress(): Promise<() => void> {
    let other = new Map(this.nodes);
    const ports = new Map<number, NodePorts>();
    for (const id of this.ids) ports.set(id, { http: await freePort(), raft: await freePort() });
    const { directory } = this;
    for (const [id, own] of ports) {
      const env = { ...nodeEnv({ id, ports, directory, mesh: null }), ...this.env };
      this.nodes.set(id, new BrokerProcess(this.root, env, own));
    }
    return () => {
      const now = new Map(this.nodes);
      for (const [id, node] of other) this.nodes.set(id, node);
      other = now;
    };
  }

  /** Ends a node and waits for it; resolves with its exit code, null after a signal that kills. */
  async stop(id: number, signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const node = this.node(id);
    const end = node.ended();
    node.signal(signal);
    return end;
  }

  /** kill -9 of every node that runs; resolves when all nodes are started again. */
  async killAll(): Promise<void> {
    const nodes = [...this.nodes.values()];
    const running = nodes.filter((node) => node.isRunning);
    const ends = running.map((node) => node.ended());
    for (const node of running) node.killNow();
    await Promise.all(ends);
    // One that ended with 75 before its kill starts by itself.
    for (const node of nodes) if (!node.isRunning) node.start();
  }

  /** Resolves when the node can serve. */
  async ready(id: number, withinMs = PATIENCE_MS): Promise<void> {
    await this.until(async () => (await this.health(id))?.status === 200, {
      withinMs,
      what: `node ${id} to be ready`,
    });
  }

  /** A node that is no member any more; it must not run. */
  forget(id: number): void {
    this.nodes.delete(id);
  }

  get mesh(): FaultMesh {
    if (this.faulty === null) throw new Error('started without `faulty`');
    return this.faulty;
  }

  get ids(): number[] {
    return [...this.nodes.keys()];
  }

  node(id: number): BrokerProcess {
    const node = this.nodes.get(id);
    if (node === undefined) throw new Error(`there is no node ${id}`);
    return node;
  }

  url(id: number): string {
    return `http://127.0.0.1:${this.node(id).ports.http}`;
  }

  /** Null when nothing answers. Who looks once, and needs an answer of a node that runs, gives it time. */
  async health(id: number, timeoutMs = 1_000): Promise<Health | null> {
    try {
      const response = await fetch(`${this.url(id)}/health`, {
        signal: AbortSignal.timeout(timeoutMs),
      });
      const body = (await response.json()) as { raft: Omit<Health, 'status'> };
      return { ...body.raft, status: response.status };
    } catch (error) {
      // Refused, reset or silent: the node does not answer, which is what the caller asks.
      return error instanceof Error ? null : null;
    }
  }

  /** Id of the node that says it leads, once every listed node knows a leader. */
  async leader(among: readonly number[] = this.ids, withinMs = PATIENCE_MS): Promise<number> {
    let found = 0;
    await this.until(
      async () => {
        const all = await Promise.all(among.map((id) => this.health(id, 5_000)));
        const at = all.findIndex((health) => health?.role === 'leader');
        found = at < 0 ? 0 : (among[at] ?? 0);
        return found !== 0 && all.every((health) => health?.status === 200);
      },
      { withinMs, what: 'a leader that every node knows' },
    );
    return found;
  }

  async until(
    check: () => Promise<boolean>,
    limit: { readonly withinMs: number; readonly what: string },
  ): Promise<void> {
    const end = performance.now() + limit.withinMs;
    while (performance.now() < end) {
      if (await check()) return;
      await pause(20);
    }
    throw new Error(`not in time: ${limit.what}\n${this.logs()}`);
  }

  logs(): string {
    return this.ids
      .map((id) => `--- node ${id}\n${lines(this.node(id).log).slice(-15).join('\n')}`)
      .join('\n');
  }

  async remove(): Promise<void> {
    const running = [...this.nodes.values()].filter((node) => node.isRunning);
    const ends = running.map((node) => node.ended());
    for (const node of running) node.killNow();
    await Promise.all(ends);
    await this.faulty?.close();
    await rm(this.directory, { recursive: true, force: true });
  }
}

function nodeEnv(node: {
  readonly id: number;
  readonly ports: ReadonlyMap<number, NodePorts>;
  readonly directory: string;
  readonly mesh: FaultMesh | null;
}): Record<string, string> {
  const { id, ports, directory, mesh } = node;
  const peers = [...ports].map(([to, peer]) => {
    const raft = to === id || mesh === null ? peer.raft : mesh.address(id, to).port;
    return `${to}=127.0.0.1:${raft}/127.0.0.1:${peer.http}`;
  });
  const own = ports.get(id);
  return {
    QUEEN_RAFT_REPLICATOR: 'raft',
    QUEEN_RAFT_NODE_ID: String(id),
    QUEEN_RAFT_PEERS: peers.join(','),
    QUEEN_RAFT_LISTEN: `127.0.0.1:${own?.raft ?? 0}`,
    QUEEN_RAFT_TOKEN: TOKEN,
    QUEEN_RAFT_DIR: join(directory, `n${id}`),
    QUEEN_BIND_ADDR: '127.0.0.1',
    QUEEN_HEAP_PCT: '0',
    PORT: String(own?.http ?? 0),
  };
}

function raftEndpoints(ports: readonly NodePorts[]): Map<number, Endpoint> {
  return new Map(ports.map(({ raft }, i) => [i + 1, { host: '127.0.0.1', port: raft }]));
}

/** Given out by this process, which are free again while their node is down. */
const given = new Set<number>();

/** Outside the range the kernel takes for outgoing connections: those would be in the way at a restart. */
async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const port = FIRST_PORT + randomInt(PORTS);
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
  throw new Error('no port is free');
}

/** The first of `count` neighbouring ports that are all free. */
async function freePorts(count: number): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const first = await freePort();
    const others = Array.from({ length: count - 1 }, (_, i) => first + 1 + i);
    const free = await Promise.all(others.map((port) => isFree(port)));
    if (others.some((port) => given.has(port)) || !free.every((one) => one)) continue;
    for (const port of others) given.add(port);
    return first;
  }
  throw new Error(`no ${count} neighbouring ports are free`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '' && !line.includes(' config: '));
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
