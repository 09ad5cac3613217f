/** Requests that do not arrive in time, on a real server with a short limit: 408, then closed. */
import type { FastifyInstance } from 'fastify';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { Admission } from './admission.js';
import { attachHooks, createAdapter } from './fastify-setup.js';
import { KnownRoutes } from './known-routes.js';

describe('a request that does not arrive in time', () => {
  let fastify: FastifyInstance;
  let port: number;
  const admission = new Admission({ maxBytes: 100, holdMs: 10, random: Math.random });

  beforeAll(async () => {
    const adapter = createAdapter({ maxBodyBytes: 1_000, requestTimeoutMs: 150 });
    fastify = adapter.getInstance<FastifyInstance>();
    attachHooks(fastify, {
      routes: new KnownRoutes(),
      admission,
      maxBodyBytes: 1_000,
      minBodyRate: 0,
    });
    fastify.post('/slow', { config: { growing: true } }, () => 'done');
    await fastify.listen({ port: 0, host: '127.0.0.1' });
    port = (fastify.server.address() as AddressInfo).port;
  });

  afterAll(() => fastify.close());

  it.each([
    ['headers', 'POST /slow HTTP/1.1\r\nHost: x\r\n'],
    ['a body', 'POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nabc'],
  ])(
    'without the rest of %s is 408 and gives everything back',
    async (_what, text) => {
      const socket = connect(port, '127.0.0.1');
      let received = '';
      socket.on('data', (bytes: Buffer) => {
        received += bytes.toString();
      });
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.write(text);
      await closed;
      expect(received).toMatch(/^HTTP\/1\.1 408 /);
      expect(received).toContain('"code":"bad_request"');
      expect(admission.heldBytes).toBe(0);
    },
    20_000,
  );
});
