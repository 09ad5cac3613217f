/**
 * A run: batches of requests sent at once to one broker, every answer judged, health asked between, the
 * memory looked at in the end. Faults are gathered by route and kind, each with its first request, and
 * the run goes on; only a broker that does not answer any more ends it.
 */
import { Agent, request as send, type RequestOptions } from 'node:http';
import fc from 'fast-check';
import type { ApiDocument } from '../support/api-document.js';
import { faultOf, type FuzzAnswer } from './judge.js';
import { requestsOf, type FuzzRequest } from './requests.js';

export interface FuzzOptions {
  readonly port: number;
  readonly requests: number;
  readonly seed: number;
  readonly say?: (line: string) => void;
  /** An answer that takes longer is a hang. */
  readonly hangMs?: number;
}

export interface FuzzFault {
  readonly route: string;
  readonly what: string;
  readonly count: number;
  readonly first: string;
}

export interface FuzzReport {
  readonly sent: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly faults: readonly FuzzFault[];
  /** RSS of the broker after a quarter of the run and at its end. */
  readonly rssBytes: readonly [early: number, late: number];
}

const BATCH = 8;
const HANG_MS = 60_000;
const HEALTH_EVERY = 25;
const SHOWN_BYTES = 600;
const MIB = 1024 * 1024;

export async function runFuzz(options: FuzzOptions): Promise<FuzzReport> {
  const run = new FuzzRun(options);
  try {
    return await run.run();
  } finally {
    run.close();
  }
}

class FuzzRun {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: BATCH * 2 });
  private readonly faults = new Map<string, FuzzFault>();
  private readonly byStatus: Record<string, number> = {};
  private sent = 0;

  constructor(private readonly options: FuzzOptions) {}

  async run(): Promise<FuzzReport> {
    const document = JSON.parse((await this.get('/docs-json')).text) as ApiDocument;
    const batches = Math.ceil(this.options.requests / BATCH);
    let early = 0;
    const { seed } = this.options;
    const samples = fc.sample(
      fc.array(requestsOf(document), { minLength: BATCH, maxLength: BATCH }),
      {
        seed,
        numRuns: batches,
      },
    );
    for (const [at, batch] of samples.entries()) {
      await Promise.all(batch.map((request) => this.one(document, request)));
      if (at % HEALTH_EVERY === 0) await this.checkHealth();
      if (at === Math.floor(batches / 4)) early = await this.rssBytes();
      if (at % 250 === 249) await this.sayWhere();
    }
    await this.checkHealth();
    const { sent, byStatus } = this;
    const rssBytes = [early, await this.rssBytes()] as const;
    return { sent, byStatus, faults: [...this.faults.values()], rssBytes };
  }

  close(): void {
    this.agent.destroy();
  }

  private async sayWhere(): Promise<void> {
    const { say } = this.options;
    if (say === undefined) return;
    const rss = Math.round((await this.rssBytes()) / MIB);
    say(`${this.sent} requests, ${this.faults.size} kinds of faults, ${rss} MiB`);
  }

  private async one(document: ApiDocument, request: FuzzRequest): Promise<void> {
    const answer = await this.send(request);
    this.sent += 1;
    if (typeof answer === 'string') {
      this.note(request, answer, null);
      return;
    }
    this.byStatus[answer.status] = (this.byStatus[answer.status] ?? 0) + 1;
    const fault = faultOf(document, request, answer);
    if (fault !== null) this.note(request, fault, answer);
  }

  private note(request: FuzzRequest, what: string, answer: FuzzAnswer | null): void {
    const key = `${request.route} ${what}`;
    const known = this.faults.get(key);
    const first = known?.first ?? shown(request, answer);
    this.faults.set(key, { route: request.route, what, first, count: (known?.count ?? 0) + 1 });
  }

  private async checkHealth(): Promise<void> {
    const { status } = await this.get('/health');
    if (status !== 200) throw new Error(`the broker is not healthy: ${status}`);
  }

  private async rssBytes(): Promise<number> {
    const { text } = await this.get('/metrics');
    return (JSON.parse(text) as { readonly memory: { readonly rss: number } }).memory.rss;
  }

  private async get(path: string): Promise<FuzzAnswer> {
    const answer = await this.send({ route: '', method: 'GET', path, headers: {}, body: null });
    if (typeof answer === 'string') throw new Error(`${path}: ${answer}`);
    return answer;
  }

  /** The answer, or what happened instead. */
  private send({ method, path, headers, body }: FuzzRequest): Promise<FuzzAnswer | string> {
    const { port, hangMs = HANG_MS } = this.options;
    const isChunked = headers['transfer-encoding'] !== undefined;
    const length = body === null || isChunked ? {} : { 'content-length': String(body.length) };
    const options: RequestOptions = { host: '127.0.0.1', port, method, path, agent: this.agent };
    return new Promise((resolve) => {
      const call = send({ ...options, headers: { ...headers, ...length } }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', (error) => resolve(`the answer broke off: ${error.message}`));
        answer.on('end', () => {
          const type = String(answer.headers['content-type'] ?? '');
          const text = Buffer.concat(chunks).toString();
          resolve({ status: answer.statusCode ?? 0, type, text });
        });
      });
      call.setTimeout(hangMs, () => {
        resolve('no answer in time');
        call.destroy();
      });
      call.on('error', (error) => resolve(`no answer: ${error.message}`));
      call.end(body ?? undefined);
    });
  }
}

function shown({ method, path, headers, body }: FuzzRequest, answer: FuzzAnswer | null): string {
  const parts = [`${method} ${path.slice(0, SHOWN_BYTES)}`, JSON.stringify(headers)];
  if (body !== null) parts.push(body.subarray(0, SHOWN_BYTES).toString());
  if (answer !== null) parts.push(`-> ${answer.status} ${answer.text.slice(0, SHOWN_BYTES)}`);
  return parts.join('\n    ');
}

export function reportText({ sent, byStatus, faults, rssBytes }: FuzzReport): string {
  const statuses = Object.entries(byStatus).map(([status, count]) => `${status}: ${count}`);
  const [early, late] = rssBytes.map((bytes) => Math.round(bytes / MIB));
  return [
    `${sent} requests, ${statuses.join(', ')}; memory ${early} MiB early, ${late} MiB late`,
    ...faults.map(({ route, what, count, first }) => `${route}: ${what} (${count})\n    ${first}`),
    faults.length === 0 ? 'no faults' : `${faults.length} kinds of faults`,
  ].join('\n');
}
