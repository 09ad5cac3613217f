/**
 * Push bodies: what is found, what is refused and with which text, against JSON.parse.
 */
import fc from 'fast-check';
import { encodeUtf8, readUtf8 } from '../utf8.js';
import { JsonCursor } from './json-cursor.js';
import {
  ITEM_HAS_ID,
  ITEM_HAS_TRACE_ID,
  ITEM_ID_IN_ARENA,
  PushScan,
  PushScanPool,
} from './push-scan.js';
import { PushScanner } from './push-scanner.js';

const scanner = new PushScanner();

interface Item {
  queue: string;
  partition: string;
  id: string | undefined;
  payload: string;
}

function rows(scan: PushScan): Item[] {
  return Array.from({ length: scan.count }, (_, i) => {
    const target = scan.targetOf[i]!;
    const hasId = (scan.flags[i]! & ITEM_HAS_ID) !== 0;
    return {
      queue: scan.queueText(target),
      partition: scan.partitionText(target),
      id: hasId ? readUtf8(scan.idSource(i), scan.idStarts[i]!, scan.idEnds[i]!) : undefined,
      payload: readUtf8(scan.body, scan.payloadStarts[i]!, scan.payloadEnds[i]!),
    };
  });
}

function scanText(text: string): { refusal: string | undefined; scan: PushScan; items: Item[] } {
  const scan = new PushScan();
  const refusal = scanner.scanBody(encodeUtf8(text), scan);
  if (refusal !== undefined)
    return { refusal: `${refusal.code}: ${refusal.text}`, scan, items: [] };
  return { refusal: undefined, scan, items: rows(scan) };
}

describe('PushScanner', () => {
  it('finds every part of an item', () => {
    const { items, scan } = scanText(
      ` { "items" : [ {"queue":"orders","partition":"c-9","transactionId":"o-1",
        "traceId":"0199c0de-1111-7222-8333-444455556666","payload": {"n":1} } ,
        {"payload":12345678901234567890,"queue":"orders"}] } `,
    );
    expect(items).toEqual([
      { queue: 'orders', partition: 'c-9', id: 'o-1', payload: '{"n":1}' },
      { queue: 'orders', partition: 'Default', id: undefined, payload: '12345678901234567890' },
    ]);
    expect([...scan.flags.subarray(0, 2)]).toEqual([ITEM_HAS_ID | ITEM_HAS_TRACE_ID, 0]);
    const trace = scan.traceStarts[0]!;
    expect(readUtf8(scan.body, trace, trace + 36)).toBe('0199c0de-1111-7222-8333-444455556666');
    expect(scan.payloadBytes()).toBe(7 + 20);
  });

  it.each([
    ['{"items":[]}', 0],
    ['{"items":[{"queue":"q","payload":null}]}', 1],
    ['{"items":[{"queue":"q","payload":1,"partition":null,"transactionId":null,"traceId":7}]}', 1],
    ['{"items":[{"queue":"q","payload":1,"partition":"","transactionId":""}]}', 1],
    ['{"x":{"items":3},"items":[{"queue":"q","payload":1,"extra":[{"queue":1}]}],"y":[]}', 1],
    ['{"items":3,"items":[{"queue":"q","payload":1}]}', 1],
    ['{"items":[{"queue":7,"queue":"q","payload":1,"partition":2,"partition":"p"}]}', 1],
    ['{"items":[{"queue":"","payload":1}],"items":[]}', 0],
  ])('accepts %s', (text, count) => {
    const { refusal, items } = scanText(text);
    expect(refusal).toBeUndefined();
    expect(items).toHaveLength(count);
    for (const item of items) expect(item.id).toBeUndefined();
  });

  it.each([
    ['', 'bad_body: invalid JSON at byte 0: unexpected end'],
    ['[]', 'bad_body: the body must be a JSON object'],
    ['null', 'bad_body: the body must be a JSON object'],
    ['{}', 'bad_body: items is required'],
    ['{"items":null}', 'bad_body: items must be an array'],
    ['{"items":[],"items":{}}', 'bad_body: items must be an array'],
    ['{"items":[1]}', 'bad_body: items[0]: must be an object'],
    ['{"items":[{"payload":1}]}', 'bad_body: items[0]: queue is required'],
    ['{"items":[{"queue":null,"payload":1}]}', 'bad_body: items[0]: queue is required'],
    ['{"items":[{"queue":3,"payload":1}]}', 'bad_body: items[0]: queue must be a string'],
    ['{"items":[{"queue":"q"}]}', 'bad_body: items[0]: payload is required'],
    ['{"items":[{"queue":"q","data":1}]}', 'bad_body: items[0]: payload is required'],
    ['{"items":[{"queue":"q","payload":1,"partition":3}]}', 'bad_body: items[0]: partition must'],
    ['{"items":[{"queue":"q","payload":1,"transactionId":3}]}', 'transactionId must be a string'],
    ['{"items":[{"queue":"","payload":1}]}', 'bad_request: items[0]: queue must not be empty'],
    ['{"items":[{"queue":"","payload":1},{"queue":"q"}]}', 'bad_body: items[1]: payload'],
    ['{"items":[{"queue":"q"},{"queue":"q","payload":01}]}', 'bad_body: invalid JSON at byte 48'],
    [
      '{"items":[{"queue":"\\ud800","payload":1}]}',
      'bad_body: items[0]: queue is not Unicode text',
    ],
    ['{"items":[{"queue":"q","payload":1,"transactionId":"\\udc00x"}]}', 'is not Unicode text'],
    ['{"items":[]} x', 'bad_body: invalid JSON at byte 13: unexpected byte after the value'],
    ['{"items":[{"queue":"q","payload":1},]}', 'bad_body: invalid JSON at byte 36'],
    ['{"items":[{"queue":"q","payload":1,}]}', 'bad_body: invalid JSON at byte 35'],
    ['{"items":[{"queue":"q","payload":1}', 'bad_body: invalid JSON at byte 35: unexpected end'],
    ['\ufeff{"items":[]}', 'bad_body: invalid JSON at byte 0: byte order mark'],
  ])('refuses %s', (text, expected) => {
    expect(scanText(text).refusal).toContain(expected);
  });

  it('reads keys, names and ids with escapes', () => {
    const { items, scan } = scanText(
      '{"\\u0069tems":[{"q\\u0075eue":"caf\\u00e9\\n","partition":"\\ud83d\\ude00",' +
        '"transactionId":"a\\"b\\\\","payload":"\\ud800"},' +
        '{"queue":"café\\n","partition":"😀","payload":{"__proto__":1}}]}',
    );
    expect(items).toEqual([
      { queue: 'café\n', partition: '😀', id: 'a"b\\', payload: '"\\ud800"' },
      { queue: 'café\n', partition: '😀', id: undefined, payload: '{"__proto__":1}' },
    ]);
    expect(scan.flags[0]! & ITEM_ID_IN_ARENA).not.toBe(0);
    expect([scan.queues.count, scan.targets.count]).toEqual([1, 1]);
  });

  it('numbers distinct targets in first-seen order', () => {
    const pairs = ['a/x', 'a/y', 'b/x', 'a/x', 'ax/', 'a/x', 'b/x', 'b/x'];
    const items = pairs.map((pair) => {
      const [queue, partition] = pair.split('/');
      return { queue, partition, payload: 0 };
    });
    const { scan } = scanText(JSON.stringify({ items }));
    expect([...scan.targetOf.subarray(0, 8)]).toEqual([0, 1, 2, 0, 3, 0, 2, 2]);
    expect([scan.queues.count, scan.targets.count]).toEqual([3, 4]);
    expect([3, 2].map((target) => scan.queueText(target))).toEqual(['ax', 'b']);
    expect(scan.queueOfTarget(2)).toBe(1);
  });

  it('agrees with JSON.parse on random bodies, and reuses one scan', () => {
    const name = fc.oneof(
      fc.constantFrom('q', 'orders', 'Default', 'q\n', 'größe'),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
    );
    const item = fc.record(
      {
        queue: name,
        partition: fc.oneof(name, fc.constantFrom(null, '')),
        transactionId: fc.oneof(name, fc.constantFrom(null, '')),
        payload: fc.jsonValue({ maxDepth: 3 }),
        other: fc.jsonValue({ maxDepth: 1 }),
      },
      { requiredKeys: ['queue', 'payload'] },
    );
    const scan = new PushScan();
    fc.assert(
      fc.property(fc.array(item, { maxLength: 12 }), fc.constantFrom(0, 2), (items, indent) => {
        const body = encodeUtf8(JSON.stringify({ items }, null, indent));
        expect(scanner.scanBody(body, scan)).toBeUndefined();
        const found = rows(scan);
        const expected = (JSON.parse(JSON.stringify(items)) as typeof items).map((sent) => ({
          queue: sent.queue,
          partition: sent.partition || 'Default',
          id: sent.transactionId || undefined,
          payload: sent.payload,
        }));
        expect(
          found.map((row) => ({ ...row, payload: JSON.parse(row.payload) as unknown })),
        ).toEqual(expected);
        const distinct = new Set(expected.map((row) => JSON.stringify([row.queue, row.partition])));
        expect(scan.targets.count).toBe(distinct.size);
      }),
      { numRuns: 400 },
    );
  });

  it('refuses every truncation of a body, and stays usable', () => {
    const body = encodeUtf8(
      '{"items":[{"queue":"q\\n","payload":{"a":[1.5e3,"ä"]},"transactionId":"t"}]}',
    );
    const scan = new PushScan();
    for (let size = 0; size < body.length; size++) {
      expect(scanner.scanBody(body.slice(0, size), scan)?.code).toBe('bad_body');
    }
    expect(scanner.scanBody(body, scan)).toBeUndefined();
    expect(scan.count).toBe(1);
  });

  it('gathers items from several places of another body', () => {
    const body = encodeUtf8(
      '{"operations":[{"queue":"a","payload":1},[{"queue":"b","payload":2},{"queue":"c","payload":3}]]}',
    );
    const cursor = new JsonCursor();
    const scan = new PushScan();
    cursor.reset(body);
    scanner.begin(body, scan);
    cursor.enterObject();
    while (cursor.nextKey()) {
      cursor.enterArray();
      cursor.nextElement();
      scanner.scanItem(cursor);
      cursor.nextElement();
      scanner.scanItems(cursor);
      expect(cursor.nextElement()).toBe(false);
    }
    expect(cursor.finish()).toBe(true);
    expect(scanner.end()).toBeUndefined();
    expect(rows(scan).map((row) => row.queue + row.payload)).toEqual(['a1', 'b2', 'c3']);
  });

  it('keeps at most a bounded number of bounded scans', () => {
    const pool = new PushScanPool();
    const scan = pool.acquire();
    const items = Array.from({ length: 20_000 }, (_, i) => ({ queue: `q${i}`, payload: i }));
    expect(scanner.scanBody(encodeUtf8(JSON.stringify({ items })), scan)).toBeUndefined();
    expect([scan.count, scan.targets.count, scan.queueText(19_999)]).toEqual([
      20_000,
      20_000,
      'q19999',
    ]);
    pool.release(scan);
    expect([scan.count, scan.body.length, scan.flags.length]).toEqual([0, 0, 128]);
    expect(pool.acquire()).toBe(scan);
    expect(pool.acquire()).not.toBe(scan);
  });
});
