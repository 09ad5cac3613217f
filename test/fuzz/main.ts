/**
 * `npm run fuzz -- --requests 20000 --seed 7`: a broker of its own as a process, fuzzed through its API
 * document. Exit 1 on a fault, on a broker that ends, and on memory that grows.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { reportText, runFuzz } from './fuzz-run.js';

const MAX_GROWTH_BYTES = 128 * 1024 * 1024;
const START_MS = 60_000;
const MAX_ERRORS = 20;
const LISTENING = /listening.*addr="?127\.0\.0\.1:(\d+)/;

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '20000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);

interface Broker {
  readonly child: ChildProcess;
  readonly port: number;
  /** The end of what it logged. */
  log(): string;
  /** Errors it logged, the first ones. */
  readonly errors: readonly string[];
}

function startBroker(directory: string): Promise<Broker> {
  const child = spawn(process.execPath, ['bin/queen.cjs'], {
    env: {
      ...process.env,
      PORT: '0',
      QUEEN_BIND_ADDR: '127.0.0.1',
      QUEEN_RAFT_DIR: directory,
      QUEEN_HEAP_PCT: '0',
      DEFAULT_TIMEOUT: '300',
      QUEEN_STMT_TIMEOUT_MS: '5000',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  const errors: string[] = [];
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not listening:\n${log}`)), START_MS);
    const read = (chunk: Buffer): void => {
      log = (log + String(chunk)).slice(-20_000);
      const lines = String(chunk).split('\n');
      errors.push(...lines.filter((line) => line.includes(' ERROR ')).slice(0, MAX_ERRORS));
      errors.length = Math.min(errors.length, MAX_ERRORS);
      const port = LISTENING.exec(log)?.[1];
      if (port === undefined) return;
      clearTimeout(timer);
      resolve({ child, port: Number(port), log: () => log, errors });
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('exit', (code) => reject(new Error(`the broker ended with ${code}:\n${log}`)));
  });
}

async function main(): Promise<void> {
  const seed = Number(values.seed);
  say(`seed ${seed}`);
  const directory = await mkdtemp(join(tmpdir(), 'queen-fuzz-'));
  const broker = await startBroker(directory);
  try {
    const report = await runFuzz({
      ...{ port: broker.port, requests: Number(values.requests), seed, say },
    });
    say(reportText(report));
    for (const line of broker.errors) say(line);
    const [early, late] = report.rssBytes;
    const hasGrown = late - early > MAX_GROWTH_BYTES;
    if (hasGrown) say('memory has grown');
    if (report.faults.length > 0 || hasGrown || broker.child.exitCode !== null)
      process.exitCode = 1;
  } catch (error) {
    say(`${error instanceof Error ? error.message : String(error)}\n${broker.log()}`);
    process.exitCode = 1;
  } finally {
    broker.child.kill('SIGKILL');
    await rm(directory, { recursive: true, force: true });
  }
}

await main();
