/**
 * A thread that asks a server for something cheap again and again. What the server's main thread worked
 * while one of these answers was waited for tells how long its event loop was held; in processor time,
 * because on a busy machine the wall clock tells about the neighbours.
 */
import { readFileSync } from 'node:fs';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';
import { askOnce, Connection } from './connection.js';
import { sleep } from './server-process.js';

const PATH = '/api/v1/raft/liveness';
const EVERY_MS = 1;

/** The longest of the answers since the last call, ms. */
export interface Held {
  readonly cpuMs: number;
  readonly wallMs: number;
}

export class LoopProbe {
  private constructor(private readonly worker: Worker) {}

  static async start(server: { readonly port: number; readonly pid: number }): Promise<LoopProbe> {
    const { port, pid } = server;
    await askOnce(port, 'GET', PATH);
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { port, pid } });
    await new Promise((resolve) => worker.once('message', resolve));
    return new LoopProbe(worker);
  }

  async take(): Promise<Held> {
    const answer = new Promise<Held>((resolve) => this.worker.once('message', resolve));
    this.worker.postMessage('take');
    return answer;
  }

  async stop(): Promise<void> {
    await this.worker.terminate();
  }
}

/** Processor time of a process's main thread (Linux). */
function mainThreadMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6;
}

async function probe({ port, pid }: Probed): Promise<void> {
  const parent = parentPort;
  if (parent === null) return;
  let [cpuMs, wallMs] = [0, 0];
  let isAsked = false;
  parent.on('message', () => (isAsked = true));
  const connection = await Connection.open(port);
  await connection.request('GET', PATH);
  parent.postMessage('ready');
  for (;;) {
    const [wall, cpu] = [performance.now(), mainThreadMs(pid)];
    await connection.request('GET', PATH);
    cpuMs = Math.max(cpuMs, mainThreadMs(pid) - cpu);
    wallMs = Math.max(wallMs, performance.now() - wall);
    // Told once the answer that was under way is there: it may be the one that was held.
    if (isAsked) {
      isAsked = false;
      parent.postMessage({ cpuMs, wallMs } satisfies Held);
      [cpuMs, wallMs] = [0, 0];
    }
    await sleep(EVERY_MS);
  }
}

interface Probed {
  readonly port: number;
  readonly pid: number;
}

const probed = workerData as Probed | null;
if (parentPort !== null && probed?.pid !== undefined) await probe(probed);
