/**
 * Frames waiting for one socket, in order, bounded in bytes per lane. Frames of one turn leave in one
 * vectored write; the next batch is handed over when the kernel took the last one, so what waits here
 * is what the peer does not take. A full lane refuses; an empty one takes a frame of any size.
 */
import type { Socket } from 'node:net';
import type { Frame } from './frame.js';

/** Frame bytes of one vectored write; a longer frame goes alone. */
const BATCH_BYTES = 1024 * 1024;

export type Lane = 'append' | 'command' | 'answer';
export type LaneLimits = Readonly<Record<Lane, number>>;

interface Waiting {
  readonly frame: Frame;
  readonly lane: Lane;
}

export class Outbox {
  private readonly used: Record<Lane, number> = { append: 0, command: 0, answer: 0 };
  private queue: Waiting[] = [];
  private head = 0;
  private writing = false;
  private scheduled = false;
  private closed = false;
  /** When bytes were last handed to the socket. */
  lastWriteMs = performance.now();

  constructor(
    private readonly socket: Socket,
    private readonly limits: LaneLimits,
  ) {}

  get isIdle(): boolean {
    return !this.writing && this.head === this.queue.length;
  }

  queuedBytes(lane: Lane): number {
    return this.used[lane];
  }

  push(frame: Frame, lane: Lane): boolean {
    const used = this.used[lane];
    if (this.closed || (used > 0 && used + frame.sizeBytes > this.limits[lane])) return false;
    this.used[lane] = used + frame.sizeBytes;
    this.queue.push({ frame, lane });
    if (!this.scheduled && !this.writing) {
      this.scheduled = true;
      queueMicrotask(() => {
        this.scheduled = false;
        this.flush();
      });
    }
    return true;
  }

  close(): void {
    this.closed = true;
    this.queue = [];
    this.head = 0;
  }

  private flush(): void {
    if (this.closed || this.writing || this.head === this.queue.length) return;
    const batch = this.takeBatch();
    const parts = batch.flatMap(({ frame }) => frame.parts);
    const last = parts.pop();
    if (last === undefined) return;
    this.writing = true;
    this.lastWriteMs = performance.now();
    this.socket.cork();
    for (const part of parts) this.socket.write(part);
    this.socket.write(last, () => this.written(batch));
    this.socket.uncork();
  }

  private takeBatch(): readonly Waiting[] {
    const start = this.head;
    let bytes = 0;
    let next = this.queue[this.head];
    while (next !== undefined && (bytes === 0 || bytes + next.frame.sizeBytes <= BATCH_BYTES)) {
      bytes += next.frame.sizeBytes;
      this.head += 1;
      next = this.queue[this.head];
    }
    const batch = this.queue.slice(start, this.head);
    if (this.head * 2 >= this.queue.length) {
      this.queue = this.queue.slice(this.head);
      this.head = 0;
    }
    return batch;
  }

  /** Also called, with an error, when the socket broke: then the outbox is closed already or soon. */
  private written(batch: readonly Waiting[]): void {
    this.writing = false;
    for (const { frame, lane } of batch) this.used[lane] -= frame.sizeBytes;
    this.flush();
  }
}
