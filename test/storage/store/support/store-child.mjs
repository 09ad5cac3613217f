/**
 * The process that runs the real store and is killed. It also watches LevelDB from outside: which
 * bytes of each *.log were synced, whatever the store believes. That goes to `seen` beside the
 * directory with plain synchronous writes, because messages under way die with the process.
 *
 *   {do:'check', id, directory}   opens, reads every row, closes      -> {id, opened | refused}
 *   {do:'run', directory, seed, upTo?}  opens, then writes checkpoints -> {opened} {confirmed}*
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [, , build, changesText] = process.argv;
const { Store } = await import(join(build, 'store.js'));
const { Overlay } = await import(join(build, 'overlay.js'));
const { CheckpointWriter } = await import(join(build, 'checkpoint-writer.js'));
const { ChainedBatch } = createRequire(join(build, 'x.js'))('classic-level/chained-batch.js');
const changesOf = new Function(`return ${changesText}`)();
const bytes = (text) => Buffer.from(text, 'latin1');

const seen = { confirmed: 0, synced: {} };
let levelDirectory = '';
const write = ChainedBatch.prototype._write;
ChainedBatch.prototype._write = async function watched(options) {
  const before = logLengths();
  await write.call(this, options);
  if (options?.sync !== true) return;
  const after = logLengths();
  for (const name of Object.keys(after)) {
    if (after[name] !== before[name]) seen.synced[name] = after[name];
  }
  note();
};

function note() {
  if (levelDirectory === '') return;
  const file = join(levelDirectory, '../../seen');
  writeFileSync(`${file}.tmp`, JSON.stringify(seen));
  renameSync(`${file}.tmp`, file);
}

function logLengths() {
  const lengths = {};
  if (!existsSync(levelDirectory)) return lengths;
  for (const name of readdirSync(levelDirectory)) {
    if (!name.endsWith('.log')) continue;
    const found = statSync(join(levelDirectory, name), { throwIfNoEntry: false });
    if (found !== undefined) lengths[name] = found.size;
  }
  return lengths;
}

const options = (directory) => ({ directory, writeBufferBytes: 256 * 1024 });

async function facts(store) {
  let digest = 0;
  const snapshot = store.snapshot();
  const scan = snapshot.scan();
  let rowCount = 0;
  for (let page = await scan.next(); page !== undefined; page = await scan.next()) {
    for (const [key, value] of page) {
      const hash = createHash('sha256').update(`${key.length},${value.length},`);
      const number = hash.update(key).update(value).digest().readUIntBE(0, 6);
      digest = (digest + number) % 2 ** 48;
      rowCount++;
    }
  }
  await snapshot.close();
  const { checkpoint, meta } = store;
  const { cutBytes } = store.openReport;
  return { checkpoint, appliedIndex: meta?.appliedIndex ?? 0, rowCount, digest, cutBytes };
}

async function check({ id, directory }) {
  let store;
  try {
    store = await Store.open(options(directory));
  } catch (error) {
    const { code, file, cure, message, byteOffset } = error;
    process.send({ id, refused: { code, file, cure, message, byteOffset } });
    return;
  }
  try {
    process.send({ id, opened: await facts(store) });
  } catch (error) {
    process.send({ id, openedDamaged: { code: error.code, message: error.message } });
  }
  await store.close().catch(() => process.exit(9));
}

async function run({ directory, seed, upTo }) {
  levelDirectory = join(directory, 'store');
  let store;
  try {
    store = await Store.open(options(directory));
    seen.confirmed = store.checkpoint;
    note();
    process.send({ opened: await facts(store) });
  } catch (error) {
    const { code, file, cure, message, byteOffset } = error;
    process.send({ refused: { code, file, cure, message, byteOffset } });
    return;
  }
  const overlay = new Overlay();
  const writer = new CheckpointWriter({ store, overlay });
  for (let n = store.checkpoint + 1; n <= (upTo ?? Infinity); n++) {
    for (const { key, value } of changesOf(seed, n)) {
      if (value === null) overlay.delete(bytes(key));
      else overlay.put(bytes(key), bytes(value));
    }
    const digest = new Uint8Array(8).fill(n);
    await writer.write(n, { appliedIndex: n * 10, appliedTerm: 3, digest, extra: bytes(`x${n}`) });
    seen.confirmed = n;
    note();
    process.send({ confirmed: n });
  }
  process.send({ done: true });
}

process.on('message', (message) => {
  if (message.do === 'check') void check(message);
  if (message.do === 'run') void run(message);
});
process.on('disconnect', () => process.exit(0));
process.send({ ready: true });
