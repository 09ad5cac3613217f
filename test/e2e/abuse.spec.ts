/** Clients that hold on to what others need: stalled uploads, crowds of connections, floods of headers. */
import type { FastifyInstance } from 'fastify';
import type { AddressInfo } from 'node:net';
import { Admission } from '../../src/http/admission.js';
import { attachHooks, createAdapter } from '../../src/http/fastify-setup.js';
import { KnownRoutes } from '../../src/http/known-routes.js';
import { TestBroker } from '../support/broker.js';
import { eventually } from './calls.js';
import { RawClient } from './raw-http.js';

describe('stalled uploads', () => {
  /** Long enough that what comes meanwhile is seen; a process that stood still is not counted. */
  const PACE = { graceMs: 1_500, deadlineMs: 10_000, sweepMs: 20 };
  let fastify: FastifyInstance;
  let admission: Admission;
  let port: number;

  beforeAll(async () => {
    admission = new Admission({ maxBytes: 100_000, holdMs: 30_000, random: () => 0.5 });
    fastify = createAdapter({ maxBodyBytes: 100_000 }).getInstance<FastifyInstance>();
    const bounds = { maxBodyBytes: 100_000, minBodyRate: 100, pace: PACE };
    attachHooks(fastify, { routes: new KnownRoutes(), admission, ...bounds });
    fastify.post('/up', { config: { growing: true } }, () => 'done');
    await fastify.listen({ port: 0, host: '127.0.0.1' });
    port = (fastify.server.address() as AddressInfo).port;
  });

  afterAll(() => fastify.close());

  it('are ended with 408 and let others in that wait for their budget', async () => {
    const stalled = await RawClient.open(port);
    stalled.request('POST /up', ['Content-Length: 100000'], 'a few bytes');
    await eventually(async () => (admission.heldBytes === 100_000 ? true : null));
    const waiting = await RawClient.open(port);
    waiting.request('POST /up', ['Content-Length: 4'], 'body');
    await eventually(async () => (admission.waiting === 1 ? true : null));
    const refused = await stalled.answer();
    expect([refused.status, refused.headers['connection']]).toEqual([408, 'close']);
    await stalled.closed();
    expect((await waiting.answer()).status).toBe(200);
    waiting.destroy();
    await eventually(async () => (admission.heldBytes === 0 ? true : null));
  });

  it('without a length are ended too', async () => {
    const client = await RawClient.open(port);
    client.request('POST /up', ['Transfer-Encoding: chunked'], '3\r\nabc\r\n');
    expect((await client.answer()).status).toBe(408);
    await client.closed();
  });

  it('a body that comes in time is served', async () => {
    const client = await RawClient.open(port);
    client.request('POST /up', ['Content-Length: 30']);
    for (let i = 0; i < 30; i += 1) {
      client.write('x');
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await client.answer()).status).toBe(200);
    client.destroy();
  });
});

describe('connections', () => {
  it('beyond the bound are closed, the others are served', async () => {
    const broker = await TestBroker.start({ QUEEN_MAX_CONNECTIONS: '3' });
    const inside: RawClient[] = [];
    try {
      for (let i = 0; i < 3; i += 1) inside.push(await RawClient.open(broker.portNumber));
      for (const client of inside) {
        client.request('GET /health');
        expect((await client.answer()).status).toBe(200);
      }
      const outside = await RawClient.open(broker.portNumber);
      await outside.closed();
      inside.pop()?.destroy();
      await eventually(async () => {
        const next = await RawClient.open(broker.portNumber);
        next.request('GET /health');
        return next.answer().then(
          ({ status }) => status === 200 || null,
          () => null,
        );
      });
    } finally {
      for (const client of inside) client.destroy();
      await broker.stop();
    }
  });
});

describe('headers', () => {
  it('are never dropped: the tenant behind thousands of others still counts', async () => {
    const broker = await TestBroker.start({
      QUEEN_TENANCY_HEADER: 'true',
      QUEEN_KV_TRUSTED_PROXY: 'true',
    });
    try {
      const client = await RawClient.open(broker.portNumber);
      const filler = Array.from({ length: 5_000 }, (_, i) => `h${i}: x`);
      client.request('GET /api/v1/resources/queues', [...filler, 'x-queen-tenant: nobody']);
      const answer = await client.answer();
      expect(answer).toMatchObject({
        status: 400,
        body: expect.stringContaining('x-queen-tenant'),
      });
      client.destroy();
      const twice = await RawClient.open(broker.portNumber);
      const tenant = 'x-queen-tenant: 00000000-0000-0000-0000-000000000001';
      twice.request('GET /api/v1/resources/queues', [tenant, tenant]);
      expect((await twice.answer()).status).toBe(400);
      twice.destroy();
    } finally {
      await broker.stop();
    }
  });
});
