/**
 * Damage in the log of real nodes and what the repair specs look at: segments as the manifest lists
 * them, every message as one node reads it by itself, and the digests of the members' checkpoints.
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NodeFilePort } from '../../src/raft/wal/index.js';
import { readManifest, segmentFileName, type SegmentState } from '../../src/raft/wal/manifest.js';
import { readCheckpoint } from '../../src/storage/checkpoint-record.js';
import type { ClusterProcesses } from '../support/cluster-processes.js';

const LIMIT_MS = 120_000;
/** So that a hundred fill more than two segments of the log. */
const PAYLOAD = 'x'.repeat(25_000);

interface Fetched {
  readonly entries: readonly {
    readonly records: readonly { readonly payload: { readonly number: number } }[];
  }[];
}

export class RepairScene {
  private made = 0;

  constructor(private readonly cluster: ClusterProcesses) {}

  directoryOf(id: number): string {
    return join(this.cluster.directory, `n${id}`);
  }

  /** Paths of the segments in a state, oldest first. */
  async segments(id: number, state: SegmentState): Promise<string[]> {
    const directory = join(this.directoryOf(id), 'wal');
    const manifest = await readManifest(new NodeFilePort(), directory);
    return (manifest?.segments ?? [])
      .filter((row) => row.state === state)
      .map(({ sequence, revision }) => join(directory, segmentFileName(sequence, revision)));
  }

  /** Flips one bit at a part of the file: 0.5 is inside a payload, 0 in the header. */
  flip(path: string, part = 0.5): void {
    const bytes = readFileSync(path);
    const at = Math.floor(bytes.length * part) + 40;
    bytes[at] = (bytes[at] as number) ^ 0x20;
    writeFileSync(path, bytes);
  }

  async push(at: number, count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      const number = this.made;
      const items = [
        {
          ...{ queue: 'q', partition: 'p', transactionId: `t-${number}` },
          payload: { number, PAYLOAD },
        },
      ];
      await this.cluster.until(
        async () => (await this.post(at, '/api/v1/push', { items })).status === 201,
        { withinMs: LIMIT_MS, what: `push ${number} to be acknowledged` },
      );
      this.made += 1;
    }
  }

  /** Every message as this node has it, in order; null when it does not serve any more. */
  async readAll(id: number): Promise<number[] | null> {
    const found: number[] = [];
    while (found.length < this.made) {
      const entries = [{ queue: 'q', partition: 'p', offset: found.length }];
      const { status, body } = await this.post(id, '/api/v1/fetch', { entries });
      if (status !== 200) return null;
      const { records } = (body as Fetched).entries[0] ?? { records: [] };
      if (records.length === 0) return found;
      found.push(...records.map(({ payload }) => payload.number));
    }
    return found;
  }

  async expectAll(id: number): Promise<void> {
    const all = Array.from({ length: this.made }, (_, number) => number);
    expect({ id, found: await this.readAll(id) }).toEqual({ id, found: all });
  }

  /** Waits until all members have a checkpoint of one index, and compares their digests. */
  async expectSameDigest(): Promise<void> {
    let digests: string[] = [];
    await this.cluster.until(
      async () => {
        const records = await Promise.all(
          this.cluster.ids.map((id) => readCheckpoint(this.directoryOf(id)).catch(() => undefined)),
        );
        digests = records.map((one) => Buffer.from(one?.record.digest ?? []).toString('hex'));
        const indexes = new Set(records.map((one) => one?.record.appliedIndex ?? -1));
        return indexes.size === 1 && !indexes.has(-1);
      },
      { withinMs: LIMIT_MS, what: 'checkpoints of one index' },
    );
    expect(new Set(digests).size).toBe(1);
    expect(digests[0]).toMatch(/^[0-9a-f]{16}$/);
  }

  async expectStopped(id: number): Promise<void> {
    await this.cluster.until(async () => (await this.cluster.health(id))?.role === 'stopped', {
      withinMs: LIMIT_MS,
      what: `node ${id} to stop`,
    });
    expect((await this.cluster.health(id, LIMIT_MS))?.status).toBe(503);
  }

  async healthy(id: number): Promise<void> {
    await this.cluster.until(async () => (await this.cluster.health(id))?.status === 200, {
      withinMs: 180_000,
      what: `node ${id} to serve`,
    });
  }

  async end(id: number, signal: NodeJS.Signals): Promise<void> {
    const node = this.cluster.node(id);
    const ended = node.ended();
    node.signal(signal);
    await ended;
  }

  /** `queen repair` for a node that is not running. */
  repair(id: number): Promise<{ readonly code: number | null; readonly output: string }> {
    const child = spawn(process.execPath, ['bin/queen.cjs', 'repair'], {
      env: { ...process.env, ...this.cluster.node(id).environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const keep = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    return new Promise((resolve) => {
      child.once('close', (code) => resolve({ code, output }));
    });
  }

  private async post(
    id: number,
    path: string,
    body: unknown,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    try {
      const response = await fetch(this.cluster.url(id) + path, {
        method: 'POST',
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(LIMIT_MS),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : JSON.parse(text) };
    } catch (error) {
      // A node that is not there (yet) answers nothing.
      return { status: 0, body: String(error) };
    }
  }
}
