/**
 * The real process and its end (cluster.md §1.11): parked pops are answered, what is in flight is
 * finished, the port closes, a last checkpoint, exit 0; a second signal changes nothing. Runs the built
 * broker, so `npm run build` comes first (`npm test` does).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './calls.js';
import { RawClient } from './raw-http.js';

const ROOT = join(__dirname, '..', '..');
const READY_MS = 40_000;
/** A pop would last a minute, an idle connection longer. */
const STOP_MS = 40_000;

class Process {
  output = '';
  readonly ended: Promise<number | string>;

  private constructor(private readonly child: ChildProcess) {
    const keep = (bytes: Buffer): void => {
      this.output += bytes.toString();
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    this.ended = new Promise((resolve) => {
      child.on('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'));
    });
  }

  static async start(directory: string): Promise<Process> {
    const env = { ...process.env, PORT: '0', QUEEN_BIND_ADDR: '127.0.0.1' };
    const child = spawn(process.execPath, [join(ROOT, 'bin', 'queen.cjs')], {
      env: { ...env, QUEEN_RAFT_DIR: directory, LOG_LEVEL: 'info' },
    });
    const broker = new Process(child);
    await eventually(async () => broker.port, READY_MS);
    return broker;
  }

  /** From the line that says where it listens. */
  get port(): number | null {
    const match = /listening.*addr=\S*?:(\d+)/.exec(this.output);
    return match === null ? null : Number(match[1]);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  async push(queue: string, id: string): Promise<Response> {
    const body = JSON.stringify({ items: [{ queue, transactionId: id, payload: id }] });
    return fetch(`${this.url}/api/v1/push`, { method: 'POST', body });
  }
}

describe('the process', () => {
  let directory: string;
  let broker: Process | null = null;

  beforeAll(() => {
    expect(existsSync(join(ROOT, 'dist', 'main.js'))).toBe(true);
  });

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'queen-process-'));
  });

  afterEach(async () => {
    broker?.signal('SIGKILL');
    await broker?.ended;
    broker = null;
    await rm(directory, { recursive: true, force: true });
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    '%s: parked pops get 204 at once, exit 0, nothing is lost',
    async (signal) => {
      broker = await Process.start(directory);
      expect((await broker.push('q', 'a')).status).toBe(201);
      const parked = Array.from({ length: 5 }, () =>
        fetch(`${broker?.url}/api/v1/pop/queue/empty?wait=true&timeout=60000`),
      );
      const port = broker.port ?? 0;
      const idle = await RawClient.open(port);
      idle.request('GET /health');
      await idle.answer();
      // Connected ahead, without a request.
      await RawClient.open(port);
      const uploading = await RawClient.open(port);
      const body = '{"items":[{"queue":"q","transactionId":"b","payload":1}]}';
      uploading.request('POST /api/v1/push', [`Content-Length: ${body.length}`], body.slice(0, 20));
      // The pops have arrived, and the part of the body.
      const metrics = `${broker.url}/metrics/prometheus`;
      await eventually(async () => {
        const text = await (await fetch(metrics)).text();
        const held = new RegExp(`^queen_raft_admit_bytes\\b.* ${body.length}$`, 'm').test(text);
        return held && text.includes('\nqueen_parked_long_polls 5\n') ? true : null;
      });
      const started = Date.now();
      broker.signal(signal);
      const answers = await Promise.all(parked);
      expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204, 204]);
      expect(Date.now() - started).toBeLessThan(STOP_MS);
      broker.signal(signal);
      // What had begun before the signal is finished.
      uploading.write(body.slice(20));
      expect((await uploading.answer()).status).toBe(201);
      expect(await broker.ended).toBe(0);
      expect(Date.now() - started).toBeLessThan(STOP_MS);
      expect(broker.output).toContain('signal received, draining in-flight requests');
      expect(broker.output.match(/signal received/g)).toHaveLength(1);
      expect(broker.output).toContain('shutdown complete');
      await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow();
      if (signal === 'SIGINT') return;

      broker = await Process.start(directory);
      for (const id of ['a', 'b']) {
        const again = (await (await broker.push('q', id)).json()) as { status: string }[];
        expect(again[0]?.status).toBe('duplicate');
      }
    },
    READY_MS * 3,
  );
});
