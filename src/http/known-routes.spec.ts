/** Fixed paths and their methods, as registered with a real Fastify. */
import fastify from 'fastify';
import { KnownRoutes } from './known-routes.js';

describe('KnownRoutes', () => {
  const routes = new KnownRoutes();

  beforeAll(async () => {
    const app = fastify();
    routes.attach(app);
    app.get('/api/v1/push', () => 'a');
    app.post('/api/v1/push', () => 'a');
    app.get('/api/v1/kv/:ns', () => 'q');
    app.delete('/api/v1/kv/:ns', () => 'q');
    app.post('/api/v1/kv/special', () => 's');
    app.get('/api/v1/kv/:ns/depth.x', () => 'd');
    app.get('/api/v1/dlq', () => 'g');
    app.get('/api/v1/ephemeral/queues', () => 'g');
    app.get('/api/v1/ephemeral/pop', () => 'g');
    app.post('/streams/v1/cycle', () => 'g');
    await app.ready();
    await app.close();
  });

  it.each([
    ['/api/v1/push', ['GET', 'HEAD', 'POST']],
    ['/api/v1/kv/x', ['DELETE', 'GET', 'HEAD']],
    ['/api/v1/kv/x%2Fy', ['DELETE', 'GET', 'HEAD']],
    ['/api/v1/kv/special', ['DELETE', 'GET', 'HEAD', 'POST']],
    ['/api/v1/kv/x/depth.x', ['GET', 'HEAD']],
    ['/api/v1/kv/x/depthyx', []],
    ['/api/v1/kv/', []],
    ['/api/v1/push/', []],
    ['/API/v1/push', []],
    ['/api/v1/dlq', []],
    ['/api/v1/ephemeral/queues', []],
    ['/api/v1/ephemeral/pop', ['GET', 'HEAD']],
    ['/streams/v1/cycle', []],
    ['/nothing', []],
  ])('%s: %j', (path, methods) => {
    expect(routes.methodsOf(path)).toEqual(methods);
  });
});
