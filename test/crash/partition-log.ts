/**
 * What is known of the log of one partition, from push answers and from every delivery to anyone: which
 * id stands at which offset. All sources must agree, offsets have no gaps, an id stands there once, and
 * the messages of one producer stand in the order in which it sent them.
 */
import type { ViolationLog } from './violation-log.js';

/** "<producer>-<number>"; a producer sends its numbers of one partition in rising order. */
export interface MessageName {
  readonly producer: number;
  readonly number: number;
}

export const idOf = ({ producer, number }: MessageName): string => `${producer}-${number}`;

export function nameOf(id: string): MessageName {
  const [producer, number] = id.split('-').map(Number);
  return { producer: producer ?? -1, number: number ?? -1 };
}

export class PartitionLog {
  /** Highest acknowledged offset, −1 without one. */
  acknowledgedEnd = -1;
  acknowledged = 0;
  private readonly ids: (string | undefined)[] = [];
  private readonly offsets = new Map<string, number>();
  private readonly acknowledgedOffsets = new Set<number>();
  private readonly messageIds = new Map<string, string>();
  /** By offset: the message was stamped after that. */
  private readonly sendTimes: (number | undefined)[] = [];

  constructor(
    readonly name: string,
    private readonly violations: ViolationLog,
  ) {}

  /** A push was answered for this id: queued, or the duplicate of an earlier try. */
  acknowledge(id: string, offset: number, messageId: string): void {
    this.observe(id, offset, 'push');
    const known = this.messageIds.get(id);
    if (known !== undefined && known !== messageId) {
      this.violations.add(`${this.name}@${offset} ${id}: message id ${messageId}, before ${known}`);
    }
    this.messageIds.set(id, messageId);
    if (this.acknowledgedOffsets.has(offset)) return;
    this.acknowledgedOffsets.add(offset);
    this.acknowledged += 1;
    this.acknowledgedEnd = Math.max(this.acknowledgedEnd, offset);
  }

  sentAt(offset: number, atMs: number): void {
    this.sendTimes[offset] = atMs;
  }

  /** False when an acknowledged message of the offsets was sent later. */
  isSentBefore(
    { from, to }: { readonly from: number; readonly to: number },
    atMs: number,
  ): boolean {
    for (let offset = from; offset <= to; offset += 1) {
      if ((this.sendTimes[offset] ?? -Infinity) > atMs) return false;
    }
    return true;
  }

  /** Somebody saw this id at this offset. */
  observe(id: string, offset: number, source: string): void {
    const stands = this.ids[offset];
    if (stands !== undefined && stands !== id) {
      this.violations.add(`${this.name}@${offset}: ${source} has ${id}, known is ${stands}`);
    }
    const other = this.offsets.get(id);
    if (other !== undefined && other !== offset) {
      this.violations.add(`${this.name}: ${id} at ${other} and (${source}) at ${offset}`);
    }
    this.ids[offset] = id;
    this.offsets.set(id, offset);
  }

  offsetOf(id: string): number | undefined {
    return this.offsets.get(id);
  }

  messageIdOf(id: string): string | undefined {
    return this.messageIds.get(id);
  }

  acknowledgedIds(): readonly string[] {
    return [...this.messageIds.keys()];
  }

  /** After a reader saw the whole log up to `end` (exclusive): nothing acknowledged is missing. */
  checkWhole(end: number, reader: string): void {
    this.checkRange({ start: 0, end }, reader);
  }

  /** A reader saw everything up to `end`, from where the log starts now: no gaps, all in order. */
  checkRange(
    { start, end }: { readonly start: number; readonly end: number },
    reader: string,
  ): void {
    if (this.acknowledgedEnd >= end) {
      this.violations.add(
        `${this.name}: ${reader} ended before ${end}, acknowledged up to ${this.acknowledgedEnd}`,
      );
    }
    const last = new Map<number, number>();
    for (let offset = start; offset < end; offset += 1) {
      const id = this.ids[offset];
      if (id === undefined) {
        this.violations.add(`${this.name}@${offset}: a gap`);
        continue;
      }
      const { producer, number } = nameOf(id);
      if (number <= (last.get(producer) ?? -1)) {
        this.violations.add(`${this.name}@${offset}: ${id} after number ${last.get(producer)}`);
      }
      last.set(producer, number);
    }
  }
}
