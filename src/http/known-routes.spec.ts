/** Known paths and their methods, as registered with a real Fastify. */
import fastify from 'fastify';
import { KnownRoutes } from './known-routes.js';

describe('KnownRoutes', () => {
  const routes = new KnownRoutes();

  beforeAll(async () => {
    const app = fastify();
    routes.attach(app);
    app.get('/api/a', () => 'a');
    app.post('/api/a', () => 'a');
    app.get('/api/q/:queue', () => 'q');
    app.delete('/api/q/:queue', () => 'q');
    app.post('/api/q/special', () => 's');
    app.get('/api/q/:queue/depth.x', () => 'd');
    await app.ready();
    await app.close();
  });

  it.each([
    ['/api/a', ['GET', 'HEAD', 'POST']],
    ['/api/q/x', ['DELETE', 'GET', 'HEAD']],
    ['/api/q/x%2Fy', ['DELETE', 'GET', 'HEAD']],
    ['/api/q/special', ['DELETE', 'GET', 'HEAD', 'POST']],
    ['/api/q/x/depth.x', ['GET', 'HEAD']],
    ['/api/q/x/depthyx', []],
    ['/api/q/', []],
    ['/api/a/', []],
    ['/API/a', []],
    ['/nothing', []],
  ])('%s: %j', (path, methods) => {
    expect(routes.methodsOf(path)).toEqual(methods);
  });
});
