/**
 * Measures the push scanner next to JSON.parse of the same bytes in the same run. It compiles
 * src/common to ES modules first, as the build does: Jest's CommonJS would slow constants down.
 *   node test/json/scan-speed.mjs      prints one JSON line per measurement
 */
import { mkdtempSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformFileSync } from '@swc/core';

const COMMON = fileURLToPath(new URL('../../src/common', import.meta.url));
const LOREM = 'Lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor ';
const RUNS = 100;

function compile(target) {
  for (const name of readdirSync(COMMON, { recursive: true })) {
    if (!name.endsWith('.ts') || name.endsWith('.spec.ts')) continue;
    const { code } = transformFileSync(join(COMMON, name), {
      swcrc: false,
      jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
      module: { type: 'es6' },
    });
    const out = join(target, name.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(out), { recursive: true });
    writeFileSync(out, code);
  }
  writeFileSync(join(target, 'package.json'), '{"type":"module"}');
}

const SHAPES = {
  'one string of 1 KB': () => ({ text: LOREM.repeat(20).slice(0, 1000) }),
  'business object of 1 KB': (i) => ({
    orderId: i * 1_000_003,
    customer: { name: 'Ada Lovelace', email: 'ada@example.org', city: 'London' },
    lines: Array.from({ length: 10 }, (_, k) => ({
      sku: `SKU-${k * 7919 + i}`,
      qty: k,
      price: 19.99 + k,
      tags: ['new'],
    })),
    paid: true,
    note: null,
    comment: LOREM.slice(0, 150),
  }),
  '120 numbers': (i) =>
    Array.from({ length: 120 }, (_, k) => Math.round(Math.sin(i + k) * 1e6) / 1000),
  umlauts: () => 'Grüße aus Köln, zwölf Boxkämpfer jagen Viktor über den Deich. '.repeat(14),
};

function pushBody(payload) {
  const items = Array.from({ length: 100 }, (_, i) => ({
    queue: 'orders',
    partition: `customer-${i % 10}`,
    transactionId: `0199c0de-1111-7222-8333-4444555${10_000 + i}`,
    payload: payload(i),
  }));
  return Buffer.from(JSON.stringify({ items }));
}

/** Best of many short runs, so that other processes on the machine count as little as possible. */
function megabytesPerSecond(body, run) {
  let best = Infinity;
  for (let round = 0; round < RUNS; round++) {
    const start = process.hrtime.bigint();
    for (let i = 0; i < 4; i++) run();
    best = Math.min(best, Number(process.hrtime.bigint() - start) / 4);
  }
  return Math.round((body.length / best) * 1000);
}

function largeBody() {
  const item = Buffer.from(
    '{"queue":"q","partition":"p","transactionId":"\\u0031234","payload":{"n":1}},',
  );
  const count = Math.floor((64 << 20) / item.length);
  return Buffer.concat([
    Buffer.from('{"items":['),
    Buffer.alloc(item.length * count, item),
    Buffer.from('{"queue":"q","payload":0}]}'),
  ]);
}

const target = mkdtempSync(join(tmpdir(), 'scan-speed-'));
try {
  compile(target);
  const { PushScanner } = await import(join(target, 'json/push-scanner.js'));
  const { PushScan } = await import(join(target, 'json/push-scan.js'));
  const scanner = new PushScanner();
  const scan = new PushScan();
  for (const [name, payload] of Object.entries(SHAPES)) {
    const body = pushBody(payload);
    const scanned = megabytesPerSecond(body, () => scanner.scanBody(body, scan));
    const parsed = megabytesPerSecond(body, () => JSON.parse(body.toString()));
    console.log(JSON.stringify({ name, items: scan.count, scanned, parsed }));
  }
  const body = largeBody();
  const heapBefore = process.memoryUsage().heapUsed;
  const start = process.hrtime.bigint();
  const refusal = scanner.scanBody(body, scan);
  const ms = Math.round(Number(process.hrtime.bigint() - start) / 1e6);
  const heapGrown = process.memoryUsage().heapUsed - heapBefore;
  console.log(
    JSON.stringify({
      name: '64 MiB',
      items: scan.count,
      refused: refusal !== undefined,
      ms,
      heapGrown,
    }),
  );
} finally {
  rmSync(target, { recursive: true });
}
