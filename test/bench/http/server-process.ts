/**
 * A server under test as a process of its own: started, waited for, ended by its pid. Nothing else is
 * ever signalled. Its output goes to a file, the end of which explains a failed start.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { askOnce, ConnectionLost } from './connection.js';

const READY_POLL_MS = 10;

export interface ServerCommand {
  /** Script and arguments for this Node. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly port: number;
  /** Answers 200 when the server is ready. */
  readonly readyPath: string;
  readonly logFile: string;
}

export class ServerProcess {
  private ended: { readonly code: number | null; readonly signal: string | null } | null = null;
  private readonly end: Promise<void>;

  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
    private readonly command: ServerCommand,
  ) {
    this.end = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.ended = { code, signal };
        resolve();
      });
    });
  }

  /** Spawned, not yet ready. */
  static spawn(command: ServerCommand): ServerProcess {
    const log = openSync(command.logFile, 'a');
    const child = spawn(process.execPath, command.args, {
      env: { ...process.env, ...command.env },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    return new ServerProcess(command.port, child, command);
  }

  static async start(command: ServerCommand, timeoutMs = 60_000): Promise<ServerProcess> {
    const server = ServerProcess.spawn(command);
    try {
      await server.ready(timeoutMs);
    } catch (error) {
      await server.kill();
      throw error;
    }
    return server;
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  get hasEnded(): boolean {
    return this.ended !== null;
  }

  /** Milliseconds until the server said that it is ready. */
  async ready(timeoutMs = 60_000): Promise<number> {
    const from = performance.now();
    while (performance.now() - from < timeoutMs) {
      if (this.ended !== null) {
        throw new Error(`the server ended: ${JSON.stringify(this.ended)}\n${this.logTail()}`);
      }
      if (await this.answersReady()) return performance.now() - from;
      await sleep(READY_POLL_MS);
    }
    throw new Error(`the server is not ready after ${timeoutMs} ms\n${this.logTail()}`);
  }

  /** SIGKILL; resolves when the process is gone. */
  async kill(): Promise<void> {
    if (this.ended === null) this.child.kill('SIGKILL');
    await this.end;
  }

  /** SIGTERM; a process that does not end in time is killed and reported. */
  async stop(timeoutMs = 60_000): Promise<void> {
    if (this.ended === null) this.child.kill('SIGTERM');
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.child.kill('SIGKILL');
    }, timeoutMs);
    await this.end;
    clearTimeout(timer);
    if (late) throw new Error(`the server did not stop within ${timeoutMs} ms`);
  }

  logTail(bytes = 3000): string {
    return readFileSync(this.command.logFile, 'utf8').slice(-bytes);
  }

  private async answersReady(): Promise<boolean> {
    try {
      return (await askOnce(this.port, 'GET', this.command.readyPath)).status === 200;
    } catch (error) {
      if (error instanceof ConnectionLost) return false;
      throw error;
    }
  }
}

export interface BrokerPlace {
  readonly directory: string;
  readonly port: number;
  readonly logFile: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Flags of Node, e.g. for a CPU profile. */
  readonly nodeFlags?: readonly string[];
}

/** The broker of this repository (or of QUEEN_BENCH_ROOT), as one process: its pid is the broker. */
export function brokerCommand(place: BrokerPlace): ServerCommand {
  const root = process.env['QUEEN_BENCH_ROOT'] ?? process.cwd();
  return {
    args: [...(place.nodeFlags ?? []), join(root, 'bin', 'queen.cjs')],
    env: {
      LOG_LEVEL: 'warn',
      PORT: String(place.port),
      QUEEN_BIND_ADDR: '127.0.0.1',
      QUEEN_RAFT_DIR: place.directory,
      QUEEN_HEAP_PCT: '0',
      ...place.env,
    },
    port: place.port,
    readyPath: '/health',
    logFile: place.logFile,
  };
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = address !== null && typeof address === 'object' ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
