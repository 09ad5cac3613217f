/**
 * A thread that asks a server for something cheap again and again: its longest answer tells how long the
 * server's event loop was held, whatever the thread that measures is busy with.
 */
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';
import { askOnce, Connection } from './connection.js';
import { sleep } from './server-process.js';

const PATH = '/api/v1/raft/liveness';
const EVERY_MS = 1;

export class LoopProbe {
  private constructor(private readonly worker: Worker) {}

  static async start(port: number): Promise<LoopProbe> {
    await askOnce(port, 'GET', PATH);
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { port } });
    await new Promise((resolve) => worker.once('message', resolve));
    return new LoopProbe(worker);
  }

  /** Longest answer since the last call, ms. */
  async take(): Promise<number> {
    const answer = new Promise<number>((resolve) => this.worker.once('message', resolve));
    this.worker.postMessage('take');
    return answer;
  }

  async stop(): Promise<void> {
    await this.worker.terminate();
  }
}

async function probe(port: number): Promise<void> {
  const parent = parentPort;
  if (parent === null) return;
  let longest = 0;
  let askedAt = 0;
  parent.on('message', () => {
    // One that is still waited for counts as far as it got.
    parent.postMessage(Math.max(longest, askedAt === 0 ? 0 : performance.now() - askedAt));
    longest = 0;
  });
  const connection = await Connection.open(port);
  await connection.request('GET', PATH);
  parent.postMessage(0);
  for (;;) {
    askedAt = performance.now();
    await connection.request('GET', PATH);
    longest = Math.max(longest, performance.now() - askedAt);
    askedAt = 0;
    await sleep(EVERY_MS);
  }
}

const started = workerData as { readonly port?: number } | null;
if (parentPort !== null && started?.port !== undefined) await probe(started.port);
