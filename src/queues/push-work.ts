/**
 * The memory of one push request, from scanning to rendering: reused by the next one, so that a request
 * of one message allocates next to nothing. Bounded in number and in what each may keep.
 */
import { JsonWriter } from '../common/json/json-writer.js';
import { PushScan } from '../common/json/push-scan.js';
import { SMALL_BYTES } from '../http/answers.js';
import type { PushBatchGroup } from '../machine/commands/push-batch.js';
import { PushBatch } from '../machine/commands/push-batch.js';
import { RepeatFinder } from '../preparation/repeat-finder.js';
import { PushResult } from './push-result.js';

const EMPTY = new Uint8Array(0);
const KEPT_WORKS = 64;
/** A longer command takes memory of its own. */
const KEPT_COMMAND_BYTES = 256 * 1024;
/** A work that served more items is not kept: its arrays are large. */
const KEPT_ITEMS = 16_384;

export class PushWork {
  readonly scan = new PushScan();
  readonly batch = new PushBatch(0, EMPTY, EMPTY);
  readonly result = new PushResult();
  readonly repeats = new RepeatFinder();
  private readonly writer = new JsonWriter(512);
  private memory = EMPTY;

  /** Memory for the command of this request; the same for the next one unless it is lost. */
  commandMemory(bytes: number): Uint8Array {
    if (bytes > KEPT_COMMAND_BYTES) return new Uint8Array(bytes);
    if (this.memory.length < bytes) this.memory = new Uint8Array(roomFor(bytes));
    return this.memory.subarray(0, bytes);
  }

  /** Somebody may still read the command. */
  loseCommandMemory(): void {
    this.memory = EMPTY;
  }

  /** The answer. A small one is made a string when it is sent, so that its memory is free again. */
  render(scan: PushScan, groups: readonly PushBatchGroup[]): Uint8Array {
    const { writer } = this;
    writer.clear();
    this.result.render(writer, scan, groups);
    return writer.length <= SMALL_BYTES ? writer.view() : writer.toBytes();
  }
}

/** A power of two, so that commands of similar size find room. */
function roomFor(bytes: number): number {
  let room = 512;
  while (room < bytes) room *= 2;
  return room;
}

export class PushWorkPool {
  private readonly idle: PushWork[] = [];

  acquire(): PushWork {
    return this.idle.pop() ?? new PushWork();
  }

  /** The request is answered or refused: nothing of it is looked at any more. */
  release(work: PushWork): void {
    if (work.batch.count > KEPT_ITEMS || this.idle.length >= KEPT_WORKS) return;
    work.scan.release();
    work.batch.reset(0, EMPTY, EMPTY);
    this.idle.push(work);
  }
}
