/**
 * What a newcomer does, as a CI step: the command behind `npm start` on a clean data directory, wait
 * until /health says 200, stop with one signal, and expect exit code 0. npm itself is left out: it may
 * end on a signal without passing it on. Bounded in time; leaves nothing behind.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const READY_MS = 120_000;
const STOP_MS = 70_000;

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function waitUntilHealthy(url, isGone) {
  const deadline = Date.now() + READY_MS;
  let last = 'no answer';
  while (Date.now() < deadline && !isGone()) {
    last = await fetch(url).then(
      (response) => response.status,
      (error) => error.cause?.code ?? error.message,
    );
    if (last === 200) return;
    await sleep(200);
  }
  throw new Error(`${url} was not healthy: ${last}`);
}

function startScript() {
  return JSON.parse(readFileSync('package.json', 'utf8')).scripts.start;
}

async function main() {
  const dir = mkdtempSync(join(tmpdir(), 'queen-smoke-'));
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), QUEEN_RAFT_DIR: dir };
  const [command, ...args] = startScript().split(' ');
  const program = command === 'node' ? process.execPath : command;
  const broker = spawn(program, args, { env, stdio: 'inherit' });
  let exit = null;
  const exited = new Promise((resolve) => {
    broker.once('exit', (code, signal) => resolve((exit = { code, signal })));
  });
  try {
    await waitUntilHealthy(`http://127.0.0.1:${port}/health`, () => exit !== null);
    broker.kill('SIGTERM');
    await Promise.race([exited, sleep(STOP_MS, null, { ref: false })]);
    if (exit?.code !== 0) throw new Error(`stopped with ${JSON.stringify(exit)}`);
  } finally {
    if (exit === null) broker.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  }
}

main().catch((error) => {
  console.error(`smoke: ${error.message}`);
  process.exit(1);
});
