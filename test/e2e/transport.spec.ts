/**
 * HTTP itself (messages.md §1.1, §14, admin.md §0.5, §0.6, §6): unknown routes, methods, HEAD, bodies
 * that lie about their length, broken and oversized requests, error shapes. The broker serves on.
 */
import { Groups } from '../../src/raft/index.js';
import { QueenError, type ErrorCode } from '../../src/common/errors.js';
import { TestBroker } from '../support/broker.js';
import { Calls, freshQueue, idsOf } from './calls.js';
import { RawClient } from './raw-http.js';

const KIB = 1024;

describe('transport', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start({ QUEEN_MAX_BODY_BYTES: String(256 * KIB) });
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  afterEach(async () => {
    expect((await broker.get('/health')).status).toBe(200);
  });

  const raw = () => RawClient.open(broker.portNumber);

  describe('unknown routes', () => {
    it.each([
      ['GET', '/api/v1/nope'],
      ['GET', '/api/v1/nope?x=1'],
      ['POST', '/api/v1/nope'],
      ['DELETE', '/api/v2/push'],
      ['GET', '/api/'],
      ['GET', '/api/v1'],
      ['POST', '/api/v1/push/'],
      ['GET', '/api/v1/pop/queue/a/b/c'],
      ['PUT', '/api/v1/queues/x'],
      ['POST', '/API/v1/push'],
      ['GET', '/api/v1/configure'],
      ['POST', '/api/v1/resources/queues'],
      ['POST', '/api/v1/resources/queues/x'],
      ['POST', '/api/v1/resources/queues/x/depth'],
      ['GET', '/streams/v1/nope'],
    ])('%s %s', async (method, path) => {
      const answer = await broker.send(method, path);
      expect(answer.status).toBe(404);
      const plain = path.split('?')[0] ?? '';
      if (/^\/(api|streams)\//.test(plain)) {
        expect(answer.json).toEqual({ code: 'no_such_route', error: 'not found', path: plain });
      } else expect(answer.json).toEqual({ error: 'Not Found', code: 'no_such_route' });
    });

    it('shows the path as it was sent', async () => {
      const answer = await broker.get('/api/v1/a%2Fb%20c');
      expect(answer.json.path).toBe('/api/v1/a%2Fb%20c');
    });
  });

  describe('wrong methods of fixed routes', () => {
    it.each([
      ['GET', '/api/v1/push', 'POST'],
      ['PUT', '/api/v1/push', 'POST'],
      ['OPTIONS', '/api/v1/push', 'POST'],
      ['POST', '/api/v1/pop', 'GET, HEAD'],
      ['DELETE', '/api/v1/pop/queue/x', 'GET, HEAD'],
      ['POST', '/api/v1/pop/queue/x/partition/y', 'GET, HEAD'],
      ['GET', '/api/v1/ack', 'POST'],
      ['PATCH', '/api/v1/ack/batch', 'POST'],
      ['GET', '/api/v1/lease/x/extend', 'POST'],
      ['POST', '/health', 'GET, HEAD'],
    ])('%s %s is 405, Allow: %s', async (method, path, allow) => {
      const answer = await broker.send(method, path);
      expect([answer.status, answer.text]).toEqual([405, '']);
      expect(answer.headers.get('allow')).toBe(allow);
    });
  });

  it.each(['/health', '/status', '/api/v1/resources/queues'])(
    'HEAD %s has no body',
    async (path) => {
      const answer = await broker.send('HEAD', path);
      expect([answer.status, answer.text]).toEqual([200, '']);
    },
  );

  it('HEAD of an empty pop has no length, as GET has none', async () => {
    for (const method of ['GET', 'HEAD']) {
      const client = await raw();
      client.request(`${method} /api/v1/pop/queue/${freshQueue()}`);
      const { status, headers } = await client.answer();
      expect([method, status, 'content-length' in headers]).toEqual([method, 204, false]);
      client.destroy();
    }
  });

  it.each(['GET /health', 'POST /api/v1/push', 'GET /nope'])(
    '%s without Host is 400, but in HTTP/1.0',
    async (line) => {
      const client = await raw();
      client.write(`${line} HTTP/1.1\r\nContent-Length: 0\r\n\r\n`);
      const answer = await client.answer();
      expect([answer.status, answer.headers['connection']]).toEqual([400, 'close']);
      expect(JSON.parse(answer.body)).toEqual({ error: expect.any(String), code: 'bad_request' });
      await client.closed();
      const older = await raw();
      older.write(`${line} HTTP/1.0\r\nContent-Length: 0\r\n\r\n`);
      expect((await older.answer()).body).not.toContain('Host');
      await older.closed();
    },
  );

  it('keeps a connection alive over refusals', async () => {
    const client = await raw();
    const body = '{"items":5}';
    for (let i = 0; i < 3; i += 1) {
      client.request('POST /api/v1/push', [`Content-Length: ${body.length}`], body);
      expect((await client.answer()).status).toBe(400);
      client.request('GET /api/v1/nope');
      expect((await client.answer()).status).toBe(404);
    }
    client.request('GET /health');
    expect((await client.answer()).status).toBe(200);
    client.end();
  });

  describe('body limit', () => {
    const pushOf = (queue: string, bytes: number): string => {
      const shell = JSON.stringify({ items: [{ queue, payload: '' }] });
      const payload = 'x'.repeat(bytes - shell.length);
      return JSON.stringify({ items: [{ queue, payload }] });
    };

    it('takes a body of exactly the limit', async () => {
      const queue = freshQueue();
      const answer = await broker.send('POST', '/api/v1/push', pushOf(queue, 256 * KIB));
      expect(answer.status).toBe(201);
    });

    it.each([256 * KIB + 1, 300 * KIB, 1_000 * KIB])(
      '413 plain text for %i bytes',
      async (bytes) => {
        for (const path of ['/api/v1/push', '/api/v1/ack', '/api/v1/configure']) {
          const answer = await broker.send('POST', path, pushOf('q', bytes));
          expect(answer.status).toBe(413);
          expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
          expect(answer.json).toBeUndefined();
          expect(answer.text).not.toBe('');
        }
      },
    );

    it('413 at once for a body announced far too large, without reading it', async () => {
      const client = await raw();
      client.request('POST /api/v1/push', ['Content-Length: 99999999999']);
      const answer = await client.answer();
      expect([answer.status, answer.headers['connection']]).toEqual([413, 'close']);
      await client.closed();
    });

    it('413 for a chunked body that grows too large', async () => {
      const client = await raw();
      client.request('POST /api/v1/push', ['Transfer-Encoding: chunked']);
      const chunk = 'x'.repeat(64 * KIB);
      for (let i = 0; i < 5; i += 1) client.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
      client.write('0\r\n\r\n');
      expect((await client.answer()).status).toBe(413);
      client.destroy();
    });
  });

  describe('lengths', () => {
    const body = '{"items":[]}';

    it('takes chunked bodies in any pieces', async () => {
      const client = await raw();
      client.request('POST /api/v1/push', ['Transfer-Encoding: chunked']);
      for (const char of body) client.write(`1\r\n${char}\r\n`);
      client.write('0\r\n\r\n');
      expect(await client.answer()).toMatchObject({ status: 201, body: '[]' });
      client.end();
    });

    it.each([5, body.length - 1])('a body longer than its Content-Length of %i', async (length) => {
      const client = await raw();
      client.request('POST /api/v1/push', [`Content-Length: ${length}`], body);
      const answer = await client.answer();
      expect([answer.status, JSON.parse(answer.body).code]).toEqual([400, 'bad_request']);
      await client.closed();
    });

    it('a body shorter than its Content-Length, when the client ends', async () => {
      const client = await raw();
      client.request('POST /api/v1/push', [`Content-Length: ${body.length + 1}`], body);
      client.end();
      const answer = await client.answer();
      expect([answer.status, JSON.parse(answer.body).code]).toEqual([400, 'bad_request']);
      await client.closed();
    });

    it('a client that never finishes its body costs nothing but its connection', async () => {
      const client = await raw();
      client.request('POST /api/v1/push', ['Content-Length: 1000'], body);
      await broker.get('/health');
      client.destroy();
      expect((await broker.post('/api/v1/push', { items: [] })).status).toBe(201);
    });

    it('a slow body is served when it is complete', async () => {
      const client = await raw();
      client.request('POST /api/v1/push', [`Content-Length: ${body.length}`]);
      for (const char of body) {
        client.write(char);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      expect((await client.answer()).status).toBe(201);
      client.end();
    });

    it.each([
      ['Content-Length: -1'],
      ['Content-Length: x'],
      ['Content-Length: 1', 'Content-Length: 2'],
      ['Content-Length: 5', 'Transfer-Encoding: chunked'],
    ])('%s %s is 400', async (...headers) => {
      const client = await raw();
      client.request('POST /api/v1/push', headers, body);
      const answer = await client.answer();
      expect([answer.status, JSON.parse(answer.body).code]).toEqual([400, 'bad_request']);
      await client.closed();
    });

    it('Expect: 100-continue', async () => {
      const client = await raw();
      const headers = [`Content-Length: ${body.length}`, 'Expect: 100-continue'];
      client.request('POST /api/v1/push', headers);
      await client.continued();
      client.write(body);
      expect((await client.answer()).status).toBe(201);
      client.end();
    });

    it('ignores a body of GET and reads the next request behind it', async () => {
      const client = await raw();
      client.request('GET /health', ['Content-Length: 3'], 'abc').request('GET /status');
      expect((await client.answer()).status).toBe(200);
      expect((await client.answer()).status).toBe(200);
      client.end();
    });
  });

  describe('malformed requests', () => {
    it.each([
      ['no HTTP', 'hello\r\n\r\n'],
      ['binary', '\u0000\u0001\u0002\r\n\r\n'],
      ['unknown method', 'FOO /health HTTP/1.1\r\nHost: x\r\n\r\n'],
      ['bad header', 'GET /health HTTP/1.1\r\nHost x\r\n\r\n'],
      ['space in path', 'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n'],
      ['control in header', 'GET /health HTTP/1.1\r\nHost: x\r\nA: \u0001\r\n\r\n'],
      ['TLS hello', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003'],
    ])('%s: 400 and the connection closes', async (_name, text) => {
      const client = await raw();
      client.write(Buffer.from(text, 'latin1'));
      const answer = await client.answer();
      expect(answer.status).toBe(400);
      expect(JSON.parse(answer.body)).toEqual({ error: expect.any(String), code: 'bad_request' });
      expect(answer.headers['connection']).toBe('close');
      await client.closed();
    });

    it.each([
      ['one long header', [`X: ${'a'.repeat(70_000)}`]],
      ['many headers', Array.from({ length: 3_000 }, (_, i) => `X-${i}: ${'a'.repeat(30)}`)],
    ])('%s: 431', async (_name, headers) => {
      const client = await raw();
      client.request('GET /health', headers);
      const answer = await client.answer();
      expect(answer.status).toBe(431);
      expect(JSON.parse(answer.body).code).toBe('bad_request');
      await client.closed();
    });

    it('a long path within the header limit is just an unknown name', async () => {
      expect((await broker.get(`/api/v1/resources/queues/${'q'.repeat(60_000)}`)).status).toBe(404);
      expect((await broker.get(`/api/v1/${'a/'.repeat(20_000)}`)).status).toBe(404);
    });

    it('connections that open and close at once', async () => {
      for (let i = 0; i < 20; i += 1) (await raw()).destroy();
      const client = await raw();
      client.write('POST /api/v1/push HTTP/1.1\r\nHost');
      client.destroy();
    });
  });

  describe('paths and queries', () => {
    it.each(['%', '%zz', '%f', '%ff', '%c3%28', '%ed%a0%80'])('%s stays literal', async (name) => {
      await calls.push(name, 'a');
      expect(idsOf(await broker.get(`/api/v1/pop/queue/${name}?autoAck=true`))).toEqual(['a']);
    });

    it.each(['%00', '%2e%2e', '__proto__', 'constructor', ':queue', '*'])(
      '%s is a name like any other',
      async (name) => {
        const answer = await broker.get(`/api/v1/resources/queues/${encodeURIComponent(name)}`);
        expect([answer.status, answer.json]).toEqual([404, { error: 'Queue not found' }]);
      },
    );

    it.each(['__proto__=1', '__proto__[x]=1', 'constructor=1', '%=1', 'a=%', '=', '&', 'a=1&a=2'])(
      'query %s is harmless',
      async (query) => {
        expect((await broker.get(`/api/v1/resources/queues?${query}`)).status).toBe(200);
        expect((await broker.get(`/api/v1/pop/queue/harmless?${query}`)).status).toBe(204);
      },
    );

    it('reads + and %20 as a space, the last of repeated parameters wins', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a');
      const path = `/api/v1/pop/queue/${queue}?subscriptionMode=all&consumerGroup=x&consumerGroup=`;
      expect((await broker.get(`${path}a+b%20c`)).json.consumerGroup).toBe('a b c');
    });
  });

  describe('broker faults', () => {
    const groupOf = () => broker.nest.get(Groups).first;

    it.each([
      ['retry', 503, '1'],
      ['no_leader', 503, '1'],
      ['timeout', 503, '1'],
      ['outcome_unknown', 503, '1'],
      ['standby', 503, '1'],
      ['storage_full', 507, null],
      ['overloaded', 429, '1'],
      ['too_large', 400, null],
      ['internal', 500, null],
    ] as const)('%s is %i with Retry-After %s', async (code: ErrorCode, status, retryAfter) => {
      const group = groupOf();
      const failing = jest.spyOn(group, 'submit').mockRejectedValue(new QueenError(code));
      try {
        const answer = await broker.post('/api/v1/configure', { queue: 'q' });
        expect(answer.status).toBe(status);
        expect(answer.json).toEqual({ error: expect.any(String), code });
        expect(answer.headers.get('retry-after')).toBe(retryAfter);
      } finally {
        failing.mockRestore();
      }
    });

    it('adds the leader to retry when it is known', async () => {
      const error = new QueenError('retry', undefined, { leader: '10.0.0.1:6632' });
      const failing = jest.spyOn(groupOf(), 'submit').mockRejectedValue(error);
      try {
        const answer = await broker.post('/api/v1/configure', { queue: 'q' });
        expect(answer.json).toMatchObject({ code: 'retry', leader: '10.0.0.1:6632' });
      } finally {
        failing.mockRestore();
      }
    });

    it('a fault while an answer is made is that client’s 500, without its text', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a');
      const failing = jest
        .spyOn(groupOf(), 'readMessages')
        .mockRejectedValueOnce(new TypeError('secret detail'));
      const answer = await calls.pop(queue);
      failing.mockRestore();
      expect(answer.status).toBe(500);
      expect(answer.json).toEqual({ error: 'internal error', code: 'internal' });
      expect(answer.text).not.toContain('secret');
      // The messages were not delivered, so they come again with their first attempt.
      const again = await calls.pop(queue, { wait: true, timeout: 5_000 });
      expect(again.json.messages[0].deliveryAttempt).toBe(1);
    });

    it('a fault while rendering hands the messages back as well', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a');
      const broken = { transactionId: null } as never;
      const failing = jest.spyOn(groupOf(), 'readMessages').mockResolvedValueOnce([broken]);
      expect((await calls.pop(queue)).json.code).toBe('internal');
      failing.mockRestore();
      const again = await calls.pop(queue, { wait: true, timeout: 5_000 });
      expect(again.json.messages[0].deliveryAttempt).toBe(1);
    });

    it('a pop of a broker that cannot serve is 503, never empty', async () => {
      const failing = jest.spyOn(groupOf(), 'pop').mockRejectedValue(new QueenError('no_leader'));
      const answer = await calls.pop(freshQueue());
      failing.mockRestore();
      expect([answer.status, answer.json.code]).toEqual([503, 'no_leader']);
      expect(answer.headers.get('retry-after')).toBe('1');
    });
  });
});
