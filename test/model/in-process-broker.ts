/**
 * The whole broker without sockets and without a disk under its log: the modules of the application over
 * one real single-voter group whose log lies on a simulated disk. Calls enter at the handlers Nest
 * registered with Fastify, with requests and replies made here, so that routing of the controllers,
 * parsing, services, group, machine, dispatcher and error answers are those of production.
 */
import 'reflect-metadata';
import { EventEmitter } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { AppModule } from '../../src/app.module.js';
import { loadConfig } from '../../src/config/index.js';
import { Admission } from '../../src/http/admission.js';
import { createAdapter } from '../../src/http/fastify-setup.js';
import { KnownRoutes } from '../../src/http/known-routes.js';
import { parseQuery } from '../../src/http/query.js';
import { silentLogger } from '../../src/logging/index.js';
import { Groups } from '../../src/raft/index.js';
import { openLocalGroup } from '../../src/raft/open-local-group.js';
import { FaultyFilePort } from '../support/faulty-file-port.js';
import type { Answer } from './answers.js';
import { BROKER_ENV, parkedAt, type BrokerPort, type Call, type Waiting } from './broker-port.js';

const NO_CHECKPOINT_MS = 1e9;

interface Route {
  readonly method: string;
  readonly pattern: RegExp;
  readonly names: readonly string[];
  readonly handler: (request: unknown, reply: unknown) => unknown;
}

interface Disk {
  readonly directory: string;
  readonly files: FaultyFilePort;
}

interface Running {
  readonly app: INestApplication;
  readonly groups: Groups;
  readonly routes: readonly Route[];
}

export class InProcessBroker implements BrokerPort {
  private constructor(
    private readonly disk: Disk,
    private running: Running,
  ) {}

  static async start(): Promise<InProcessBroker> {
    const directory = await mkdtemp(join(tmpdir(), 'queen-model-'));
    const disk = { directory, files: await simulatedDisk(directory) };
    return new InProcessBroker(disk, await run(disk));
  }

  send(asked: Call): Promise<Answer> {
    return this.call(asked).answer;
  }

  wait(asked: Call): Waiting {
    return this.call(asked);
  }

  parked(): number {
    return parkedAt(this.running.groups);
  }

  private call({ method, path, tenant, body }: Call): Waiting {
    const [pathname = '', search = ''] = path.split('?', 2);
    for (const route of this.running.routes) {
      const found = route.method === method ? route.pattern.exec(pathname) : null;
      if (found === null) continue;
      const params = Object.fromEntries(
        route.names.map((name, i) => [name, decodeURIComponent(found[i + 1] ?? '')]),
      );
      const headers = { 'x-queen-tenant': tenant };
      const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
      const query = parseQuery(search);
      return call(route, { method, url: path, params, query, headers, body: bytes });
    }
    throw new Error(`no route for ${method} ${path}`);
  }

  async restart(): Promise<void> {
    await this.running.app.close();
    this.running = await run(this.disk);
  }

  async stop(): Promise<void> {
    await this.running.app.close();
    await rm(this.disk.directory, { recursive: true, force: true });
  }
}

async function run({ directory, files }: Disk): Promise<Running> {
  const { config } = loadConfig({ ...BROKER_ENV, QUEEN_RAFT_DIR: directory });
  const group = await openLocalGroup({
    ...{ directory, nodeId: 1, checkpointMs: NO_CHECKPOINT_MS },
    files,
  });
  const groups = new Groups([group]);
  const http = { routes: new KnownRoutes(), admission: openAdmission() };
  const adapter = createAdapter({ maxBodyBytes: config.server.maxBodyBytes });
  const routes: Route[] = [];
  const fastify = adapter.getInstance<FastifyInstance>();
  fastify.addHook('onRoute', (route) => {
    routes.push(...routesOf(route));
  });
  const parts = { config, logger: silentLogger, http, auth: null };
  const module = await Test.createTestingModule({ imports: [AppModule.forRoot(parts)] })
    .overrideProvider(Groups)
    .useValue(groups)
    .compile();
  const app = module.createNestApplication(adapter, { bodyParser: false, logger: false });
  await app.init();
  return { app, groups, routes };
}

function openAdmission(): Admission {
  return new Admission({ maxBytes: 0, holdMs: 0, random: () => 0.5 });
}

async function simulatedDisk(directory: string): Promise<FaultyFilePort> {
  const files = new FaultyFilePort(() => 0.5);
  const made: string[] = [];
  for (let path = directory; path !== '/'; path = dirname(path)) made.unshift(path);
  for (const path of made) {
    await files.mkdir(path);
    await files.fsyncDir(dirname(path));
  }
  return files;
}

function routesOf({ method, url, handler }: RouteOptions): Route[] {
  const names: string[] = [];
  const source = url
    .split('/')
    .map((part) => {
      if (!part.startsWith(':')) return part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
      names.push(part.slice(1));
      return '([^/]+)';
    })
    .join('/');
  const pattern = new RegExp(`^${source}$`);
  const plain = handler as unknown as Route['handler'];
  return [method].flat().map((name) => ({ method: name, pattern, names, handler: plain }));
}

type Parts = Pick<FastifyRequest, 'method' | 'url' | 'params' | 'query' | 'body'> & {
  readonly headers: Record<string, string>;
};

const SOCKET = { destroyed: false, errored: null };

function call(route: Route, parts: Parts): Waiting {
  const request = {
    ...parts,
    raw: { socket: SOCKET },
    routeOptions: { url: route.pattern.source },
  };
  const raw = new MadeSocket();
  const answer = new Promise<Answer>((resolve, reject) => {
    const reply = new MadeReply(raw, request as unknown as FastifyRequest, resolve);
    Promise.resolve(route.handler(request, reply)).catch(reject);
  });
  return { answer, leave: () => raw.emit('close') };
}

/** What services listen to of a response. */
class MadeSocket extends EventEmitter {
  destroyed = false;
}

/** What services and Nest use of a Fastify reply; the answer counts as delivered at once. */
class MadeReply {
  sent = false;
  statusCode = 200;

  constructor(
    readonly raw: MadeSocket,
    readonly request: FastifyRequest,
    private readonly resolve: (answer: Answer) => void,
  ) {}

  code(status: number): this {
    this.statusCode = status;
    return this;
  }

  status(status: number): this {
    return this.code(status);
  }

  header(_name: string, _value: unknown): this {
    return this;
  }

  getHeader(_name: string): undefined {
    return undefined;
  }

  send(payload?: unknown): this {
    if (this.sent) throw new Error('a reply was sent twice');
    this.sent = true;
    const answer = { status: this.statusCode, body: bodyOf(payload) };
    // As over a socket: the bytes leave after the handler has gone on.
    setImmediate(() => {
      this.raw.emit('finish');
      this.raw.emit('close');
      this.resolve(answer);
    });
    return this;
  }
}

function bodyOf(payload: unknown): unknown {
  if (payload === undefined || payload === null || payload === '') return undefined;
  if (typeof payload === 'object' && !(payload instanceof Uint8Array)) {
    return JSON.parse(JSON.stringify(payload));
  }
  const text =
    typeof payload === 'string' ? payload : Buffer.from(payload as Uint8Array).toString();
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}
