/**
 * 1,000 requests made from the API document, in this process; `npm run fuzz` sends many more to a broker
 * of its own. The seed is fixed here, so that a failure is one that comes again.
 */
import { TestBroker } from '../support/broker.js';
import { faultOf } from './judge.js';
import { reportText, runFuzz } from './fuzz-run.js';

const MIB = 1024 * 1024;

it('answers whatever is sent, without a fault', async () => {
  const broker = await TestBroker.start({ DEFAULT_TIMEOUT: '300', QUEEN_STMT_TIMEOUT_MS: '5000' });
  try {
    const report = await runFuzz({ port: broker.portNumber, requests: 1_000, seed: 20_261_130 });
    expect(report.faults.map(({ route, what, first }) => `${route}: ${what}\n${first}`)).toEqual(
      [],
    );
    expect(report.sent).toBe(1_000);
    expect(Number(report.byStatus['200'])).toBeGreaterThan(100);
    expect(reportText(report)).toContain('no faults');
    const [early, late] = report.rssBytes;
    expect(late - early).toBeLessThan(400 * MIB);
  } finally {
    await broker.stop();
  }
}, 180_000);

it('can fail: it sees a 500, an unknown code, an undeclared status, a stack', () => {
  const operation = { responses: { 200: { description: '' } } };
  const document = { paths: { '/x': { get: operation } } } as never;
  const request = { route: 'GET /x', method: 'GET', path: '/x', headers: {}, body: null };
  const judge = (status: number, text: string, type = 'application/json'): string | null =>
    faultOf(document, request, { status, text, type });
  expect(judge(200, '{}')).toBeNull();
  expect(judge(503, '{"code":"timeout"}')).toBeNull();
  expect(judge(503, '{"error":"kv_disabled"}')).toBeNull();
  expect(judge(500, '{"code":"internal"}')).not.toBeNull();
  expect(judge(503, '{"code":"surprise"}')).not.toBeNull();
  expect(judge(503, '{"code":"storage_full"}')).not.toBeNull();
  expect(judge(418, '{}')).not.toBeNull();
  expect(judge(200, '{')).not.toBeNull();
  expect(judge(400, '{"error":"at Object.x (a.js:1)"}')).not.toBeNull();
});
