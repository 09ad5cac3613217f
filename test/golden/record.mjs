/**
 * Records a golden data directory: `node test/golden/record.mjs <name> [root of a built broker]`. The
 * broker of that build takes a fixed load as a single node and is stopped; kept are its directory, its
 * log alone, and what the state was: test/golden/<name>/{data.tgz, log.tgz, expected.json}. Written once
 * for each release and never again.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const READY_MS = 60_000;
const SLOT_BYTES = 4096;
/** Not part of a recorded log: made anew from it, or of no use elsewhere. */
const BESIDE_THE_LOG = ['store', 'checkpoint', 'ids', 'lock', 'analytics'];

const [name, root = '.'] = process.argv.slice(2);
if (name === undefined) throw new Error('usage: record.mjs <name> [root of a built broker]');
const target = join(fileURLToPath(new URL('.', import.meta.url)), name);
const work = mkdtempSync(join(tmpdir(), 'queen-golden-'));
const directory = join(work, 'data');

function freePort() {
  return new Promise((found) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });
}

const port = await freePort();
const broker = spawn(process.execPath, [join(resolve(root), 'bin', 'queen.cjs')], {
  env: {
    ...process.env,
    ...{ PORT: String(port), QUEEN_BIND_ADDR: '127.0.0.1', QUEEN_RAFT_DIR: directory },
    ...{ QUEEN_RAFT_SEGMENT_BYTES: '1048576', QUEEN_HEAP_PCT: '0', LOG_LEVEL: 'warn' },
  },
  stdio: ['ignore', 'inherit', 'inherit'],
});
const ended = new Promise((resolve_) => broker.once('exit', resolve_));

async function call(method, path, body) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}

async function must(method, path, body) {
  const answer = await call(method, path, body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  return answer.body;
}

async function untilReady() {
  const end = performance.now() + READY_MS;
  for (;;) {
    const status = await call('GET', '/health').then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 200) return;
    if (performance.now() > end) throw new Error('the broker was not ready in time');
    await sleep(50);
  }
}

/** Of everything that leaves rows; no time and no random value that the broker would not choose itself. */
async function load() {
  for (let n = 0; n < 60; n += 1) {
    const items = ['orders', 'mails'].map((queue) => ({
      ...{ queue, partition: `p${n % 3}`, transactionId: `${queue}-${n}` },
      payload: { n, text: 'x'.repeat(100 + n) },
    }));
    await must('POST', '/api/v1/push', { items });
  }
  await must('POST', '/api/v1/push', {
    items: [{ queue: 'orders', partition: 'p0', transactionId: 'orders-0', payload: 'again' }],
  });
  await must('POST', '/api/v1/configure', {
    queue: 'orders',
    options: { leaseTime: 60, retryLimit: 2 },
  });
  const pop = '/api/v1/pop/queue/orders/partition/p1?consumerGroup=g&subscriptionMode=all';
  const popped = await must('GET', `${pop}&batch=5&wait=false`);
  for (const [i, message] of popped.messages.entries()) {
    const status = i === 4 ? 'failed' : 'completed';
    await must('POST', '/api/v1/ack', { ...message, consumerGroup: 'g', status });
  }
  await must('GET', '/api/v1/pop/queue/mails?batch=4&commitOnDelivery=true&wait=false');
  for (const key of ['a', 'b', 'c']) {
    await must('PUT', `/api/v1/kv/golden/${key}`, { value: { key }, forever: true });
  }
  await must('DELETE', '/api/v1/kv/golden/b');
  await must('POST', '/api/v1/push', { items: [{ queue: 'gone', payload: 1 }] });
  await must('DELETE', '/api/v1/resources/queues/gone');
}

/** The newer of the two slots of `<dir>/checkpoint`. */
function checkpoint() {
  const bytes = readFileSync(join(directory, 'checkpoint'));
  const slots = [0, SLOT_BYTES].map((at) => bytes.subarray(at, at + SLOT_BYTES));
  const [newest] = slots.sort((a, b) => Number(b.readBigUInt64BE(24) - a.readBigUInt64BE(24)));
  return {
    index: Number(newest.readBigUInt64BE(32)),
    digest: newest.subarray(48, 56).toString('hex'),
  };
}

function pack(file) {
  const args = ['-czf', join(target, file), '--owner=0', '--group=0', '-C', work, 'data'];
  const { status } = spawnSync('tar', args, { stdio: 'inherit' });
  if (status !== 0) throw new Error('tar failed');
}

try {
  await untilReady();
  await load();
  const { raft } = await must('GET', '/health');
  broker.kill('SIGTERM');
  if ((await ended) !== 0) throw new Error('the broker did not stop gracefully');
  mkdirSync(target);
  for (const beside of ['lock', 'analytics']) {
    rmSync(join(directory, beside), { recursive: true, force: true });
  }
  pack('data.tgz');
  const expected = { ...checkpoint(), clusterVersion: raft.clusterVersion, orders: 60, mails: 60 };
  for (const beside of BESIDE_THE_LOG) {
    rmSync(join(directory, beside), { recursive: true, force: true });
  }
  pack('log.tgz');
  writeFileSync(join(target, 'expected.json'), `${JSON.stringify(expected, null, 2)}\n`);
  console.log(`${target}: ${JSON.stringify(expected)}`);
} finally {
  broker.kill('SIGKILL');
  rmSync(work, { recursive: true, force: true });
}
