/** Names far beyond every bound in every place a read takes one: refused or unknown, never a fault. */
import { TestBroker } from '../support/broker.js';
import type { ApiDocument } from '../support/api-document.js';

const LONG = 'x'.repeat(3000);

describe('names too long for any key', () => {
  let broker: TestBroker;
  let document: ApiDocument;

  beforeAll(async () => {
    broker = await TestBroker.start();
    document = (await broker.get('/docs-json')).json as ApiDocument;
    await broker.post('/api/v1/push', { items: [{ queue: 'q', payload: 1 }] });
  });

  afterAll(() => broker.stop());

  it('every documented read answers below 500', async () => {
    const faults: string[] = [];
    for (const [path, methods] of Object.entries(document.paths)) {
      if (methods['get'] === undefined || path.includes('/pop')) continue;
      const long = path.replace(/\{[^}]+\}/g, LONG);
      const queries = ['', `?prefix=${LONG}`, `?after=${LONG}`, `?queue=${LONG}`];
      for (const query of [...queries, `?mode=count&prefix=${LONG}`, `?consumerGroup=${LONG}`]) {
        const { status } = await broker.get(long + query);
        if (status >= 500) faults.push(`${path}${query.slice(0, 20)} -> ${status}`);
      }
    }
    expect(faults).toEqual([]);
  });

  it('a read of keys or traces says what is wrong', async () => {
    for (const path of [`/api/v1/traces/by-name/${LONG}`, `/api/v1/timers/q/${LONG}`]) {
      const { status, json } = await broker.get(path);
      expect([path, status, json.code]).toEqual([path, 413, 'name_too_long']);
    }
  });
});
