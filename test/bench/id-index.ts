/**
 * Cost of the id index: per add, per missing lookup, longest hold of the loop, restart. TOTAL ids are
 * added at RATE per second (0 = as fast as possible) in entries of 1,000, each announced first.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { micros, offset, partitionId } from '../../src/common/ids.js';
import { Prng } from '../../src/common/prng.js';
import { threadCpuMs } from './holds.js';
import { IdIndex } from '../../src/storage/id-index/index.js';

const total = Number(process.env['TOTAL'] ?? 10_000_000);
const rate = Number(process.env['RATE'] ?? 0);
const ENTRY = 1000;

/** Processor time of a lookup that finds nothing, with every run in place. */
function missingLookups(index: IdIndex, prng: Prng): string {
  const hashes = new Uint8Array(ENTRY * 16);
  const entries = 500;
  let cpu = 0;
  for (let entry = 0; entry < entries; entry += 1) {
    prng.fill(hashes);
    index.beginEntry();
    const from = threadCpuMs();
    for (let i = 0; i < ENTRY; i += 1) index.announce(i & 255, hashes, i * 16);
    for (let i = 0; i < ENTRY; i += 1) {
      index.candidates(partitionId(i & 255), { bytes: hashes, at: i * 16 }, () => true);
    }
    cpu += threadCpuMs() - from;
  }
  return ((cpu * 1e6) / (entries * ENTRY)).toFixed(0);
}

/** Median over the entries, per id. */
function nanos(samples: number[]): string {
  samples.sort((a, b) => a - b);
  return (((samples[samples.length >> 1] ?? 0) * 1e6) / ENTRY).toFixed(0);
}

async function main(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'queen-ids-'));
  let index = await IdIndex.open({ directory });
  const prng = new Prng(3);
  const hashes = new Uint8Array(ENTRY * 16);
  const journal = new Map<string, Uint8Array>();
  const sink = {
    put: (key: Uint8Array, value: Uint8Array) =>
      void journal.set(Buffer.from(key).toString('hex'), value),
    delete: (key: Uint8Array) => void journal.delete(Buffer.from(key).toString('hex')),
  };
  let [longest, loads] = [0, 0];
  const adds: number[] = [];
  const misses: number[] = [];
  const start = performance.now();
  for (let done = 0; done < total; done += ENTRY) {
    prng.fill(hashes);
    const now = 1_000_000_000 + done * 10;
    index.beginEntry();
    let from = performance.now();
    for (let i = 0; i < ENTRY; i += 1) index.announce(i & 255, hashes, i * 16);
    const loading = index.load();
    let missMs = performance.now() - from;
    if (loading !== undefined) {
      loads += 1;
      await loading;
    }
    from = performance.now();
    for (let i = 0; i < ENTRY; i += 1) {
      index.candidates(partitionId(i & 255), { bytes: hashes, at: i * 16 }, () => true);
    }
    const between = performance.now();
    missMs += between - from;
    misses.push(missMs);
    for (let i = 0; i < ENTRY; i += 1) {
      const place = { offset: offset(done + i), baseOffset: offset(done), createdAt: micros(now) };
      index.add(partitionId(i & 255), { bytes: hashes, at: i * 16 }, place);
    }
    adds.push(performance.now() - between);
    longest = Math.max(longest, performance.now() - from);
    if (done % 25_000 === 0) {
      index.journal(sink);
      index.expire(now, 3600_000_000);
      const turn = performance.now();
      await new Promise((resolve) => setImmediate(resolve));
      longest = Math.max(longest, performance.now() - turn);
    }
    if (rate > 0 && done / rate > (performance.now() - start) / 1000) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  await index.settled();
  const lookupNs = missingLookups(index, prng);
  const took = (performance.now() - start) / 1000;
  const { ids, runs, memoryBytes } = index.stats;
  console.log(
    `${ids} ids in ${took.toFixed(1)} s: add ${nanos(adds)} ns, missing lookup ` +
      `${nanos(misses)} ns (medians, wall; ${lookupNs} ns of processor time on the full index), longest hold ${longest.toFixed(1)} ms, page loads in ` +
      `${loads} entries, ${runs} runs, index memory ${(memoryBytes / 1048576).toFixed(0)} MB, journal rows ${journal.size}`,
  );
  await index.close();
  const from = performance.now();
  index = await IdIndex.open({ directory });
  for (const key of [...journal.keys()].sort()) {
    index.loadJournalRow(Buffer.from(key, 'hex'), journal.get(key)!);
  }
  console.log(`restart: ${index.stats.ids} ids in ${(performance.now() - from).toFixed(0)} ms`);
  await index.close();
  await rm(directory, { recursive: true });
}

await main();
