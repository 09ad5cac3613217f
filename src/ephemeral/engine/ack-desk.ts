/**
 * Settles acks (state.md §5.4) and renders their outcomes, aligned with the request and with the ids as
 * they were written. Ids of one batch mostly share their beginning, so the ring is looked up once a run.
 */
import { JsonCursor } from '../../common/json/json-cursor.js';
import { fieldName } from '../../common/json/body-refusal.js';
import { KIND_STRING } from '../../common/json/json-syntax.js';
import { JsonWriter } from '../../common/json/json-writer.js';
import { readUtf8 } from '../../common/utf8.js';
import type { PopDesk } from '../pops/pop-desk.js';
import { groupName } from '../queues/ephemeral-queue.js';
import type { QueueStore } from '../queues/queue-store.js';
import { parseMessageId } from '../requests/names.js';
import type { AckBodyScan } from '../requests/ack-body.js';
import type { GroupCursor } from '../rings/group-cursor.js';

const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const DIGIT_0 = 0x30;
const MAX_DIGITS = 16;
const ANY_SEQUENCE = ':0';

type AckOutcome = 'acked' | 'redelivered' | 'stale' | 'unknown';

const MESSAGES = fieldName('messages');
const ID = fieldName('id');
const ATTEMPTS = fieldName('attempts');

export interface AckDeskParts {
  readonly store: QueueStore;
  readonly desk: PopDesk;
  readonly nowMs: () => number;
  readonly incarnation: string;
}

interface Place {
  readonly tenant: Uint8Array;
  readonly queue: string;
  readonly group: string;
}

/** What the beginning of an id said: whose it is, and the cursor when there is one. */
interface Run {
  readonly outcome: 'stale' | 'unknown' | null;
  readonly cursor: GroupCursor | null;
}

export class AckDesk {
  private readonly writer = new JsonWriter();
  private readonly touched = new Set<GroupCursor>();

  constructor(private readonly parts: AckDeskParts) {}

  settle(tenant: Uint8Array, scan: AckBodyScan): Uint8Array {
    const { writer } = this;
    const place = { tenant, queue: scan.queue, group: groupName(scan.group) };
    writer.clear().ascii('{"results":[');
    let run: Run = { outcome: 'unknown', cursor: null };
    let runStart = 0;
    let runEnd = -1;
    for (let item = 0; item < scan.count; item += 1) {
      const start = scan.idStart(item) + 1;
      const end = scan.idEnd(item) - 1;
      const split = lastColon(scan.bytes, start, end);
      if (split < 0 || !sameBytes(scan.bytes, [runStart, runEnd], [start, split])) {
        const head =
          split < 0 ? scan.idText(item) : readUtf8(scan.bytes, start, split) + ANY_SEQUENCE;
        run = this.runOf(place, head);
        runStart = start;
        runEnd = split < 0 ? -1 : split;
      }
      const sequence =
        split < 0 ? idSequence(scan.idText(item)) : digits(scan.bytes, split + 1, end);
      const outcome = this.judge(run, sequence, scan.isCompleted(item));
      if (item > 0) writer.byte(COMMA);
      writer.ascii('{"id":').splice(scan.bytes, start - 1, end + 1);
      writer.ascii(',"outcome":"').ascii(outcome).ascii('"}');
    }
    this.finish();
    return writer.ascii(']}').toBytes();
  }

  /** The messages of an answer that nobody received come back. */
  undeliver(tenant: Uint8Array, group: string, body: Uint8Array): void {
    const cursor = new JsonCursor();
    cursor.reset(body);
    let queue = '';
    if (!cursor.enterObject()) return;
    while (cursor.nextKey()) {
      if (cursor.keyIs(fieldName('queue'))) queue = cursor.readString() ?? '';
      else if (cursor.keyIs(MESSAGES) && cursor.enterArray()) {
        while (cursor.nextElement()) this.undeliverOne({ tenant, queue, group }, cursor);
      } else cursor.skip();
    }
    this.finish();
  }

  private undeliverOne(place: Place, cursor: JsonCursor): void {
    let id = '';
    let attempts = 0;
    if (!cursor.enterObject()) return;
    while (cursor.nextKey()) {
      if (cursor.keyIs(ID) && cursor.kind() === KIND_STRING) id = cursor.readString() ?? '';
      else if (cursor.keyIs(ATTEMPTS) && cursor.skip()) {
        attempts = digits(cursor.bytes, cursor.valueStart, cursor.valueEnd);
      } else cursor.skip();
    }
    const run = this.runOf(place, id);
    if (run.cursor === null) return;
    run.cursor.undeliver(idSequence(id), attempts);
    this.touched.add(run.cursor);
  }

  private runOf({ tenant, queue: name, group }: Place, text: string): Run {
    const id = parseMessageId(text);
    if (id === null) return { outcome: 'unknown', cursor: null };
    if (id.incarnation !== this.parts.incarnation) return { outcome: 'stale', cursor: null };
    const { store } = this.parts;
    const queue = store.find(store.share(tenant), name);
    const cursor = queue?.rings.get(id.partition)?.cursors.get(group);
    if (queue === undefined || cursor === undefined) return { outcome: 'unknown', cursor: null };
    const now = this.parts.nowMs();
    queue.touchedMs = now;
    queue.expire(cursor, now);
    this.touched.add(cursor);
    return { outcome: null, cursor };
  }

  private judge(run: Run, sequence: number, completed: boolean): AckOutcome {
    const { outcome, cursor } = run;
    if (sequence < 0) return 'unknown';
    if (cursor === null) return outcome ?? 'unknown';
    const { queue } = cursor.ring;
    const verdict = cursor.settle(sequence, completed, queue.options.retryLimit);
    if (verdict === 'given-up') queue.count('retry', 1);
    if (verdict === 'given-up' || verdict === 'acked') this.parts.store.counts.acked += 1;
    return verdict === 'given-up' ? 'acked' : verdict;
  }

  /** Frees what was passed and wakes who waits for what came back. */
  private finish(): void {
    const now = this.parts.nowMs();
    for (const cursor of this.touched) {
      const { ring } = cursor;
      ring.queue.trim(ring);
      ring.queue.groupOf(cursor).refresh(cursor, now);
      if (cursor.comingBack > 0) this.parts.desk.ringChanged(ring.queue, ring.partition);
    }
    this.touched.clear();
  }
}

/** Position of the last colon of an id without escapes; −1 when it has escapes or none. */
function lastColon(bytes: Uint8Array, start: number, end: number): number {
  let at = -1;
  for (let p = start; p < end; p += 1) {
    if (bytes[p] === COLON) at = p;
    else if (bytes[p] === BACKSLASH) return -1;
  }
  return at;
}

type Span = readonly [start: number, end: number];

function sameBytes(bytes: Uint8Array, [a, aEnd]: Span, [b, bEnd]: Span): boolean {
  if (aEnd < a || aEnd - a !== bEnd - b) return false;
  for (let i = 0; i < aEnd - a; i += 1) if (bytes[a + i] !== bytes[b + i]) return false;
  return true;
}

/** A decimal number, −1 when it is none. */
function digits(bytes: Uint8Array, start: number, end: number): number {
  if (start >= end || end - start > MAX_DIGITS) return -1;
  let value = 0;
  for (let p = start; p < end; p += 1) {
    const digit = (bytes[p] ?? 0) - DIGIT_0;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

function idSequence(text: string): number {
  return parseMessageId(text)?.sequence ?? -1;
}
