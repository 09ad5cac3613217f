/**
 * The two baselines as one process: `POST /json` is a bare Fastify route that parses a small JSON body
 * and answers JSON; `POST /scan` takes the raw body and only scans it as a push. PORT names the port.
 */
import Fastify from 'fastify';
import { PushScan } from '../../../src/common/json/push-scan.js';
import { PushScanner } from '../../../src/common/json/push-scanner.js';

const BODY_LIMIT = 64 * 1024 * 1024;

interface SmallBody {
  readonly items: readonly { readonly transactionId: string }[];
}

async function main(): Promise<void> {
  const server = Fastify({ bodyLimit: BODY_LIMIT });
  server.get('/health', () => ({ status: 'ready' }));
  server.post<{ Body: SmallBody }>('/json', (request, reply) => {
    const { items } = request.body;
    void reply.code(201);
    return [{ index: 0, transaction_id: items[0]?.transactionId, status: 'queued', offset: 0 }];
  });
  const scanner = new PushScanner();
  const scan = new PushScan();
  await server.register((raw, _options, done) => {
    raw.removeAllContentTypeParsers();
    raw.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, parsed) => {
      parsed(null, body);
    });
    raw.post<{ Body: Buffer }>('/scan', (request, reply) => {
      const refusal = scanner.scanBody(request.body, scan);
      const { count } = scan;
      scan.release();
      void reply.code(refusal === undefined ? 201 : 400);
      return { items: count };
    });
    done();
  });
  await server.listen({ port: Number(process.env['PORT']), host: '127.0.0.1' });
}

await main();
