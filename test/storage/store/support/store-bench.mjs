/**
 * Measures the store on this machine: `node store-bench.mjs <build>`. Prints one line per figure,
 * by the clock and, in brackets, by CPU time of the process, which holds on a machine that is
 * shared. The rows are like the broker's: 21-byte keys, 65-byte values.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const build = process.argv[2];
const load = (name) => import(join(build, name));
const { Store } = await load('store.js');
const { Overlay } = await load('overlay.js');
const { Rows } = await load('rows.js');
const { CheckpointWriter } = await load('checkpoint-writer.js');
const { crc32c } = await load('crc32c.js');
const { breathe } = await load('key-sort.js');

const ROWS = 1_000_000;
const directory = mkdtempSync(join(tmpdir(), 'queen-store-bench-'));
const print = (name, value) => console.log(`${name.padEnd(58)} ${value}`);

/** One key in one buffer, so that the figures are not those of a million buffers. */
const scratch = Buffer.alloc(21);
function key(i, into = scratch) {
  const n = (i * 7919) % ROWS;
  into[0] = 3;
  into.writeUInt32BE(n % 1000, 1);
  into.writeUInt32BE(n, 9);
  return into;
}
const value = Buffer.alloc(65, 7);

/** Starts a stopwatch; it answers [wall ms, cpu ms]. */
function stopwatch() {
  const start = performance.now();
  const cpu = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    return [performance.now() - start, (user + system) / 1000];
  };
}
const each = ([wall, cpu], n, unit = 'us') => {
  const scale = unit === 'ns' ? 1e6 : 1e3;
  return `${((wall * scale) / n).toFixed(1)} ${unit} (${((cpu * scale) / n).toFixed(1)})`;
};
const rate = ([wall, cpu], n, unit = 'k/s') =>
  `${Math.round(n / wall)} ${unit} (${Math.round(n / cpu)})`;

function loop(name, n, act) {
  for (const round of ['cold', 'warm']) {
    const stop = stopwatch();
    act(n);
    print(`${name}, ${round}`, each(stop(), n, 'ns'));
  }
}

const block = Buffer.alloc(32 << 20, 0x5a);
for (const size of [4096, 86]) {
  let stop = stopwatch();
  for (let round = 0; round < 3; round++) {
    stop = stopwatch();
    for (let at = 0; at + size <= block.length; at += size) crc32c(block, at, at + size);
  }
  print(`crc32c over ${size} bytes`, rate(stop(), 32_000, 'MB/s'));
}
{
  let target;
  const put = (n) => {
    target = new Overlay({ maxBytes: 1 << 30 });
    for (let i = 0; i < n; i++) target.put(key(i), value);
  };
  const get = (from) => (n) => {
    for (let i = from; i < from + n; i++) target.get(key(i));
  };
  loop('overlay put, new keys', 200_000, put);
  loop('overlay get, hit', 200_000, get(0));
  loop('overlay get, miss', 200_000, get(200_000));
  const map = new Map();
  loop('  compare: Map of latin1 strings, set', 200_000, (n) => {
    map.clear();
    for (let i = 0; i < n; i++) map.set(key(i).latin1Slice(), Uint8Array.from(value));
  });
  loop('  compare: Map of latin1 strings, get', 200_000, (n) => {
    for (let i = 0; i < n; i++) map.get(key(i).latin1Slice());
  });
}

let store = await Store.open({ directory });
let overlay = new Overlay();
const writer = new CheckpointWriter({ store, overlay });
let longestHold = 0;
let written = 0;
const checkpointMs = [];
{
  const stop = stopwatch();
  let last = performance.now();
  const watch = setInterval(() => {
    const now = performance.now();
    longestHold = Math.max(longestHold, now - last - 2);
    last = now;
  }, 2);
  for (let i = 0; i < ROWS; i++) {
    overlay.put(key(i), value);
    if (i % 1000 === 999) {
      await breathe();
      while (overlay.isFull) await writer.settled();
      if (writer.due(performance.now(), i)) {
        const began = performance.now();
        const meta = { appliedIndex: i, appliedTerm: 1, digest: new Uint8Array(8), extra: value };
        void writer
          .write(performance.now(), meta)
          .then(() => checkpointMs.push(performance.now() - began));
        written++;
      }
    }
  }
  await writer.settled();
  const meta = { appliedIndex: ROWS, appliedTerm: 1, digest: new Uint8Array(8), extra: value };
  await writer.write(performance.now(), meta);
  clearInterval(watch);
  print('put 1 M rows and checkpoint them', rate(stop(), ROWS));
  checkpointMs.sort((a, b) => a - b);
  const median = checkpointMs[checkpointMs.length >> 1] ?? 0;
  print(
    `  ${written + 1} checkpoints, median / longest`,
    `${median.toFixed(0)} / ${(checkpointMs.at(-1) ?? 0).toFixed(0)} ms`,
  );
  print('  longest hold of the event loop', `${longestHold.toFixed(0)} ms`);
}
const small = [];
for (let i = 0; i < 40; i++) {
  overlay.put(key(i), value);
  const start = performance.now();
  await writer.write(start, {
    appliedIndex: ROWS + i,
    appliedTerm: 1,
    digest: new Uint8Array(8),
    extra: value,
  });
  small.push(performance.now() - start);
}
small.sort((a, b) => a - b);
print('checkpoint of one row, median', `${small[20].toFixed(1)} ms`);
await store.close();

for (let round = 0; round < 2; round++) {
  const start = performance.now();
  store = await Store.open({ directory });
  const { verifyMs, checkedBytes, tableCount } = store.openReport;
  const megabytes = (checkedBytes / 1e6).toFixed(0);
  print(
    `open, ${tableCount} tables, ${megabytes} MB`,
    `${(performance.now() - start).toFixed(0)} ms`,
  );
  print('  of it the verifier', `${verifyMs.toFixed(0)} ms`);
  if (round === 0) await store.close();
}
{
  const { readCheckpoint } = await load('checkpoint-record.js');
  const { verifyLevel } = await load('leveldb/verifier.js');
  await store.close();
  const known = await readCheckpoint(directory);
  for (let round = 0; round < 3; round++) {
    const stop = stopwatch();
    const { checkedBytes } = await verifyLevel({ directory: join(directory, 'store'), known });
    print('verifier alone', rate(stop(), checkedBytes / 1000, 'MB/s'));
  }
  store = await Store.open({ directory });
}
overlay = new Overlay();
const rows = new Rows(store, overlay);
async function count(name, options) {
  const view = rows.view();
  const stop = stopwatch();
  let seen = 0;
  const scan = view.scan({}, options);
  for (;;) {
    const page = await scan.next();
    if (page === undefined) break;
    seen += page.length;
  }
  print(name, `${rate(stop(), seen)} (${seen} rows)`);
  await view.close();
}
for (let i = 0; i < 3; i++) await count('scan of all rows, checksums checked');
await count('scan backwards', { reverse: true });
for (let i = 0; i < 50_000; i++) overlay.put(key(i), value);
await count('scan with 50,000 rows in the overlay', {});
{
  let stop = stopwatch();
  for (let i = 0; i < 2_000; i++) await rows.view().close();
  print('view, taken and closed', each(stop(), 2_000));
  stop = stopwatch();
  for (let i = 500_000; i < 600_000; i++) store.getSync(key(i));
  print('getSync, hit', each(stop(), 100_000));
  stop = stopwatch();
  for (let i = 0; i < 100_000; i++) {
    const missing = key(i);
    missing[20] = 1;
    store.getSync(missing);
  }
  scratch[20] = 0;
  print('getSync, miss', each(stop(), 100_000));
  stop = stopwatch();
  for (let i = 0; i < 100_000; i += 500) {
    await store.getMany(Array.from({ length: 500 }, (_, k) => key(i + k, Buffer.alloc(21))));
  }
  print('getMany of 500, per key', each(stop(), 100_000));
}
await store.close();
rmSync(directory, { recursive: true, force: true });
