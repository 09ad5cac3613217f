/**
 * A real broker in this process for integration tests: the whole Nest application on a free loopback
 * port over a data directory of its own. `restart` closes it gracefully and opens the same directory.
 */
import 'reflect-metadata';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { loadConfig } from '../../src/config/index.js';
import { createApp } from '../../src/lifecycle/boot.js';
import { silentLogger } from '../../src/logging/index.js';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Body as text; '' when there was none. */
  readonly text: string;
  /** Body as JSON; undefined when it is empty or no JSON. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests look into arbitrary answers
  readonly json: any;
}

export class TestBroker {
  private constructor(
    readonly directory: string,
    private readonly env: Readonly<Record<string, string>>,
    private app: NestFastifyApplication,
    private port: number,
  ) {}

  static async start(env: Readonly<Record<string, string>> = {}): Promise<TestBroker> {
    const directory = await mkdtemp(join(tmpdir(), 'queen-test-'));
    try {
      const { app, port } = await open(directory, env);
      return new TestBroker(directory, env, app, port);
    } catch (error) {
      // A start that is refused on purpose leaves nothing behind.
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
  }

  get portNumber(): number {
    return this.port;
  }

  /** The application itself, to break a part of it on purpose. */
  get nest(): NestFastifyApplication {
    return this.app;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async restart(env: Readonly<Record<string, string>> = this.env): Promise<void> {
    await this.app.close();
    const { app, port } = await open(this.directory, env);
    this.app = app;
    this.port = port;
  }

  async stop(): Promise<void> {
    await this.app.close();
    await rm(this.directory, { recursive: true, force: true });
  }

  get(path: string): Promise<HttpAnswer> {
    return this.send('GET', path);
  }

  post(path: string, body?: unknown): Promise<HttpAnswer> {
    return this.send('POST', path, body === undefined ? undefined : JSON.stringify(body));
  }

  /** Sends a body as it is: broken JSON, exact payload bytes. */
  async send(
    method: string,
    path: string,
    body?: string | Uint8Array<ArrayBuffer>,
    options: { readonly headers?: Record<string, string>; readonly signal?: AbortSignal } = {},
  ): Promise<HttpAnswer> {
    const response = await fetch(this.url + path, {
      method,
      ...(body === undefined ? {} : { body }),
      ...options,
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parse(text) };
  }
}

function parse(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function open(
  directory: string,
  env: Readonly<Record<string, string>>,
): Promise<{ app: NestFastifyApplication; port: number }> {
  const { config } = loadConfig({
    PORT: '0',
    QUEEN_BIND_ADDR: '127.0.0.1',
    QUEEN_RAFT_DIR: directory,
    ...env,
  });
  const app = await createApp(config, silentLogger);
  await app.listen(0, '127.0.0.1');
  const address: unknown = app.getHttpServer().address();
  const port = (address as { port: number }).port;
  return { app, port };
}
