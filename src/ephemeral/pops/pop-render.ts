/**
 * Takes messages for one pop and writes the answer on the way: ids, partition, attempts, and the payload
 * bytes as they came. No object per message.
 */
import { JsonWriter } from '../../common/json/json-writer.js';
import type { EphemeralQueue } from '../queues/ephemeral-queue.js';
import type { QueueGroup } from '../queues/queue-group.js';
import { Taken, type GroupCursor, type TakeLimits } from '../rings/group-cursor.js';
import type { DeliveredPart, PopAnswer, PopCall } from './waiting-pop.js';

/** Payload bytes of one answer; at least one message always goes. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** A buffer that grew beyond this is not kept for the next answer. */
const KEPT_BYTES = 1024 * 1024;
const COMMA = 0x2c;

export class PopRenderer {
  private writer = new JsonWriter();
  private readonly words = new JsonWriter(256);
  private readonly taken = new Taken();

  constructor(private readonly incarnation: string) {}

  /** Takes what there is for the call, up to its batch. */
  render(
    call: PopCall,
    from: { queue: EphemeralQueue; group: QueueGroup },
    nowMs: number,
  ): PopAnswer {
    const { queue, group } = from;
    const { writer } = this;
    writer.clear().ascii('{"queue":').string(queue.name).ascii(',"messages":[');
    const limits: TakeLimits = {
      nowMs,
      leaseMs: call.commitOnDelivery ? 0 : queue.options.leaseMs,
      ttlMs: queue.options.ttlMs,
      messages: call.batch,
      bytes: MAX_ANSWER_BYTES,
      delivered: 0,
    };
    const parts: DeliveredPart[] = [];
    for (let cursor = nextCursor(call, from); cursor !== undefined;) {
      this.taken.clear();
      cursor.take(limits, this.taken);
      this.write(cursor, limits.delivered > this.taken.count);
      if (limits.leaseMs > 0 && this.taken.count > 0) parts.push(this.part(cursor));
      queue.trim(cursor.ring);
      group.refresh(cursor, nowMs);
      cursor = limits.messages > 0 ? nextCursor(call, from) : undefined;
    }
    const body = writer.ascii(']}').toBytes();
    if (writer.length > KEPT_BYTES) this.writer = new JsonWriter();
    const delivery = parts.length === 0 ? null : { queue, group, parts };
    return { kind: 'answer', body, messages: limits.delivered, delivery };
  }

  /** The messages just taken from one ring. */
  private write(cursor: GroupCursor, isFollowing: boolean): void {
    const { writer, words, taken } = this;
    if (taken.count === 0) return;
    const { ring } = cursor;
    words.clear().ascii('{"id":').string(`e:${this.incarnation}:${ring.partition}:`);
    // Without the closing quote: the sequence follows.
    const head = words.truncate(words.length - 1).toBytes();
    words.clear().ascii('","partition":').string(ring.partition).ascii(',"attempts":');
    const middle = words.toBytes();
    for (let i = 0; i < taken.count; i += 1) {
      const sequence = taken.sequences[i] ?? 0;
      const payload = ring.payloadOf(sequence);
      if (i > 0 || isFollowing) writer.byte(COMMA);
      writer.fragment(head).integer(sequence).fragment(middle);
      writer
        .integer(taken.attempts[i] ?? 0)
        .ascii(',"payload":')
        .fragment(payload)
        .ascii('}');
    }
  }

  private part(cursor: GroupCursor): DeliveredPart {
    const { taken } = this;
    return {
      cursor,
      sequences: taken.sequences.slice(0, taken.count),
      attempts: taken.attempts.slice(0, taken.count),
    };
  }
}

function nextCursor(
  call: PopCall,
  { queue, group }: { queue: EphemeralQueue; group: QueueGroup },
): GroupCursor | undefined {
  if (call.partition === null) return group.ready.first();
  const cursor = queue.rings.get(call.partition)?.cursors.get(group.name);
  return cursor !== undefined && cursor.available > 0 ? cursor : undefined;
}
