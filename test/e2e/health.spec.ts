/**
 * The health page of a broker whose disk fails: it stays up, answers 503 `settling` with the reason, and
 * refuses work; and of one that is shutting down. A log that cannot be synced stops the node for good.
 */
import 'reflect-metadata';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { AppModule } from '../../src/app.module.js';
import { loadConfig } from '../../src/config/index.js';
import { Admission } from '../../src/http/admission.js';
import { attachHooks, createAdapter } from '../../src/http/fastify-setup.js';
import { KnownRoutes } from '../../src/http/known-routes.js';
import { silentLogger } from '../../src/logging/index.js';
import { Groups } from '../../src/raft/index.js';
import { TestBroker } from '../support/broker.js';
import { GroupHarness } from '../support/group-harness.js';

const MAX_BODY_BYTES = 1_048_576;

/** The whole application over a group on a simulated disk. */
async function serve(harness: GroupHarness): Promise<NestFastifyApplication> {
  const { config } = loadConfig({ QUEEN_RAFT_DIR: harness.directory });
  const routes = new KnownRoutes();
  const admission = new Admission({ maxBytes: 0, holdMs: 1, random: () => 0 });
  const adapter = createAdapter({ maxBodyBytes: MAX_BODY_BYTES });
  attachHooks(adapter.getInstance(), {
    routes,
    admission,
    maxBodyBytes: MAX_BODY_BYTES,
    minBodyRate: 0,
  });
  const groups = new Groups([
    {
      group: harness.group,
      figures: () => {
        throw new Error('nobody asks for figures here');
      },
      backup: () => Promise.reject(new Error('not here')),
      close: () => harness.close(),
    },
  ]);
  const parts = { config, logger: silentLogger, http: { routes, admission }, auth: null };
  const module = await Test.createTestingModule({ imports: [AppModule.forRoot(parts)] })
    .overrideProvider(Groups)
    .useValue(groups)
    .compile();
  const app = module.createNestApplication<NestFastifyApplication>(adapter, {
    bodyParser: false,
    logger: false,
  });
  await app.listen(0, '127.0.0.1');
  return app;
}

describe('a broker whose log cannot be synced', () => {
  let harness: GroupHarness;
  let app: NestFastifyApplication;
  let url: string;

  beforeAll(async () => {
    harness = await GroupHarness.create();
    app = await serve(harness);
    url = await app.getUrl();
  });

  afterAll(async () => {
    await app.close();
    await harness.remove();
  });

  const push = (): Promise<Response> =>
    fetch(`${url}/api/v1/push`, {
      method: 'POST',
      body: JSON.stringify({ items: [{ queue: 'q', payload: 1 }] }),
    });

  it('is healthy before', async () => {
    expect((await push()).status).toBe(201);
    const health = await fetch(`${url}/health`);
    expect(health.status).toBe(200);
    expect(await health.json()).toMatchObject({ status: 'healthy', raft: { role: 'leader' } });
  });

  it('stops at the failure, says why, and goes on answering', async () => {
    const before = (await (await fetch(`${url}/health`)).json()) as { raft: { term: number } };
    harness.disk?.failAfter('fdatasync', 1, 'EIO');
    const refused = await push();
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ code: 'retry' });

    const health = await fetch(`${url}/health`);
    expect(health.status).toBe(503);
    expect(health.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await health.json()).toEqual({
      status: 'settling',
      engine: 'raft',
      version: expect.any(String) as string,
      raft: {
        role: 'stopped',
        leader: false,
        term: before.raft.term,
        applied: expect.any(Number) as number,
        commit: expect.any(Number) as number,
        lag: 0,
        quorumAckMs: null,
        storageReady: false,
        clusterVersion: 6,
        kinds: 6,
        apply: {
          failure: {
            class: 'NODE-LOCAL',
            command: null,
            digest: null,
            effect: null,
            error: expect.stringContaining('EIO') as string,
            index: expect.any(Number) as number,
            term: before.raft.term,
          },
          skipped: [],
        },
      },
    });
    expect((await push()).status).toBe(503);
    expect((await fetch(`${url}/metrics`)).status).toBe(200);
  });
});

it('shows a healthy single node', async () => {
  const broker = await TestBroker.start();
  try {
    const health = await broker.get('/health');
    expect(health.status).toBe(200);
    const { applied } = health.json.raft;
    expect(health.json).toEqual({
      status: 'healthy',
      engine: 'raft',
      version: expect.any(String),
      raft: {
        role: 'leader',
        leader: true,
        term: 1,
        applied,
        commit: applied,
        lag: 0,
        quorumAckMs: 0,
        storageReady: true,
        clusterVersion: 6,
        kinds: 6,
        apply: { failure: null, skipped: [] },
      },
    });
    expect((await broker.get('/metrics')).json).toEqual({
      uptime: expect.any(Number),
      requests: { total: 0, rate: 0 },
      messages: { total: 0, rate: 0 },
      memory: {
        rss: expect.any(Number),
        heapTotal: expect.any(Number),
        heapUsed: expect.any(Number),
        external: expect.any(Number),
        arrayBuffers: expect.any(Number),
      },
      cpu: { user: expect.any(Number), system: expect.any(Number) },
      engine: 'raft',
      raft: {
        ...{ role: 'leader', leader: true, term: 1, applied, commit: applied, lag: 0 },
        ...{ quorumAckMs: 0, storageReady: true },
      },
    });
  } finally {
    await broker.stop();
  }
});
