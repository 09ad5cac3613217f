/**
 * Measures appends of the write-ahead log: `node test/storage/wal/bench.mjs [directory]`.
 * "no disk": a port that swallows writes, the log's own cost. "disk": real files, real syncs; busy
 * is the time the main thread worked (event loop utilisation), the rest is waiting for the disk.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';

const root = new URL('../../..', import.meta.url).pathname;
const work = mkdtempSync(join(process.argv[2] ?? '/tmp', 'queen-wal-bench-'));
const swcOptions = ['-C', 'jsc.parser.syntax=typescript', '-C', 'jsc.target=es2022'];
const swcOutput = ['-C', 'module.type=es6', '-d', join(work, 'out'), '--strip-leading-paths'];
execFileSync(
  join(root, 'node_modules/.bin/swc'),
  ['src/raft/wal', 'src/common/ids.ts', ...swcOptions, ...swcOutput],
  { cwd: root, stdio: 'ignore' },
);
execFileSync('sh', ['-c', `echo '{"type":"module"}' > ${join(work, 'package.json')}`]);
const { NodeFilePort, Wal } = await import(pathToFileURL(join(work, 'out/raft/wal/index.js')).href);

/** Counts time spent in fdatasync; `swallow` drops segment writes and syncs. */
class MeasuredPort extends NodeFilePort {
  syncs = 0;
  syncMs = 0;
  constructor(swallow) {
    super();
    this.swallow = swallow;
  }
  async open(path, mode) {
    const file = await super.open(path, mode);
    if (this.swallow && path.endsWith('.seg')) {
      const write = file.writev.bind(file);
      file.writev = async (parts, position) =>
        position === 0 ? write(parts, position) : parts.reduce((sum, part) => sum + part.length, 0);
      file.fdatasync = async () => undefined;
      return file;
    }
    const sync = file.fdatasync.bind(file);
    file.fdatasync = async () => {
      const start = performance.now();
      await sync();
      this.syncs += 1;
      this.syncMs += performance.now() - start;
    };
    return file;
  }
}

const identity = { clusterId: 'bench', nodeId: 1, directoryId: '0123456789abcdef'.repeat(2) };

async function measure(name, { swallow, entryBytes, perBatch, inFlight, totalBytes, parts = 1 }) {
  const files = new MeasuredPort(swallow);
  const directory = join(work, 'wal');
  const wal = await Wal.open({ files, directory, identity, create: {}, segmentBytes: 64 << 20 });
  const pieces = Array.from({ length: parts }, () => Buffer.alloc(entryBytes / parts, 0x5a));
  const batches = Math.ceil(totalBytes / (entryBytes * perBatch));
  let next = 1;
  const makeBatch = () => {
    const entries = [];
    for (let i = 0; i < perBatch; i += 1) {
      entries.push({ index: next, term: 1, kind: 'normal', parts: pieces });
      next += 1;
    }
    return { entries };
  };
  globalThis.gc?.();
  const cpu = process.cpuUsage();
  const loop = performance.eventLoopUtilization();
  const start = performance.now();
  let started = 0;
  const lane = async () => {
    while (started < batches) {
      started += 1;
      await wal.append(makeBatch());
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  const wallMs = performance.now() - start;
  const busyMs = performance.eventLoopUtilization(loop).active;
  const used = process.cpuUsage(cpu);
  const bytes = batches * perBatch * entryBytes;
  const gb = bytes / 1e9;
  const perAppend = (ms) => ((ms * 1000) / batches).toFixed(1);
  console.log(
    `${name}: ${(gb / (wallMs / 1000)).toFixed(2)} GB/s wall, ` +
      `${(gb / (busyMs / 1000)).toFixed(2)} GB/s by main-thread busy time, ` +
      `${(gb / ((used.user + used.system) / 1e6)).toFixed(2)} GB/s by all CPU; ` +
      `per append ${perAppend(busyMs)} us busy, ${perAppend(wallMs)} us wall; ` +
      `${files.syncs} syncs, ${files.syncMs.toFixed(0)} of ${wallMs.toFixed(0)} ms in fdatasync`,
  );
  if (!swallow) {
    const reads = 2000;
    const from = performance.now();
    for (let i = 0; i < reads; i += 1) {
      await wal.readRange(1 + ((i * 7919) % wal.lastIndex), 0, Math.min(1024, entryBytes));
    }
    console.log(`  readRange ${(((performance.now() - from) * 1000) / reads).toFixed(1)} us each`);
  }
  await wal.close();
  if (!swallow) {
    const from = performance.now();
    await (await Wal.open({ files: new NodeFilePort(), directory, identity })).close();
    console.log(`  reopen ${(performance.now() - from).toFixed(0)} ms`);
  }
  rmSync(directory, { recursive: true, force: true });
}

const MB = 1e6;
const big = { entryBytes: 100_000, perBatch: 10, inFlight: 4 };
const small = { entryBytes: 1_000, perBatch: 1 };
try {
  for (const swallow of [true, false]) {
    const where = swallow ? 'no disk' : 'disk';
    const totalBytes = swallow ? 4000 * MB : 1000 * MB;
    await measure(`${where}, 100 KB entries`, { ...big, swallow, totalBytes });
    await measure(`${where}, 100 KB entries of 100 parts`, {
      ...big,
      swallow,
      totalBytes: totalBytes / 2,
      parts: 100,
    });
    const few = swallow ? 200 * MB : 5 * MB;
    await measure(`${where}, 1 KB batches, one at a time`, {
      ...small,
      swallow,
      inFlight: 1,
      totalBytes: few,
    });
    await measure(`${where}, 1 KB batches, 64 waiting`, {
      ...small,
      swallow,
      inFlight: 64,
      totalBytes: few * 2,
    });
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
