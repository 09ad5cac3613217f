/**
 * What is secret stays so: keys, tokens and paths with secrets in them appear in no answer, no metric,
 * no page of the documentation and no line of the log, whatever is asked and whatever goes wrong.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { loadConfig } from '../../src/config/index.js';
import { createApp } from '../../src/lifecycle/boot.js';
import { createLogger, logConfig } from '../../src/logging/index.js';
import { edKeys, JwksServer, tokenOf } from '../support/tokens.js';

const SECRET = 'hush-jwt-secret';
const RAFT_TOKEN = 'hush-raft-token';

let directory: string;
let app: NestFastifyApplication;
let jwks: JwksServer;
let written = '';
let url: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'queen-secrets-'));
  jwks = await JwksServer.start();
  jwks.status = 500;
  const loaded = loadConfig({
    PORT: '0',
    QUEEN_RAFT_DIR: directory,
    QUEEN_RAFT_TOKEN: RAFT_TOKEN,
    JWT_ENABLED: 'true',
    JWT_ALGORITHM: 'auto',
    JWT_SECRET: SECRET,
    JWT_JWKS_URL: jwks.url,
    LOG_LEVEL: 'trace',
  });
  const destination = { write: (line: string) => (written += line) };
  const logger = createLogger({ filter: 'trace', json: false, destination });
  logConfig(logger, loaded);
  app = await createApp(loaded.config, logger);
  await app.listen(0, '127.0.0.1');
  url = await app.getUrl();
});

afterAll(async () => {
  await app.close();
  await jwks.stop();
  await rm(directory, { recursive: true, force: true });
});

it('no answer and no line carries one', async () => {
  const key = Buffer.from(SECRET);
  const admin = await tokenOf({ sub: 'ops', role: 'admin' }, { key });
  const foreign = await tokenOf(
    { role: 'admin' },
    { alg: 'EdDSA', kid: 'hush-kid', key: edKeys().privateKey },
  );
  let seen = '';
  const ask = async (path: string, token: string, init: RequestInit = {}): Promise<void> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(url + path, { ...init, headers });
    seen += JSON.stringify([...answer.headers]) + (await answer.text());
  };
  const document = await fetch(`${url}/docs-json`, { headers: { authorization: admin } });
  const { paths } = (await document.json()) as { readonly paths: Readonly<Record<string, object>> };
  seen += JSON.stringify(paths);
  for (const [path, item] of Object.entries(paths)) {
    const at = path.replaceAll(/\{[^}]*\}/g, 'x').replace('*', 'x');
    for (const method of Object.keys(item)) {
      const init = { method: method.toUpperCase(), ...(method === 'get' ? {} : { body: '{' }) };
      for (const token of [admin, foreign, `${admin}x`]) await ask(at, token, init);
    }
  }
  for (const path of ['/docs', '/docs/', '/docs-json', '/api/v1/nope']) await ask(path, admin);
  expect(seen.length).toBeGreaterThan(10_000);
  expect(seen).not.toContain('hush');
  expect(seen).not.toContain(admin);
  expect(written).toContain('the JWKS cannot be fetched');
  expect(written).not.toMatch(/hush/);
  expect(written).not.toContain(admin);
  expect(written).not.toContain(admin.split('.')[2]);
});
