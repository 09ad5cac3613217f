/**
 * Takes over rings of other nodes: their messages come behind what is here already, and every group keeps
 * what it had passed, what comes back and with how many attempts. A piece that does not fit is refused; one
 * that was taken before is not taken again.
 */
import type { EphemeralEngine } from '../engine/ephemeral-engine.js';
import type { TenantLimits } from '../queues/queue-store.js';
import { decodePieces, type RingPiece } from './ring-codec.js';

/** Pieces of one sender that are remembered. */
const MAX_REMEMBERED = 8192;

export class Adoption {
  private readonly taken = new Map<string, Map<number, boolean>>();

  constructor(private readonly engine: EphemeralEngine) {}

  /** One byte per piece: 1 = it is here. Throws DecodeError. */
  adoptAll(
    sender: string,
    tenant: Uint8Array,
    batch: Uint8Array,
    limits: TenantLimits,
  ): Uint8Array {
    const known = this.ofSender(sender);
    const pieces = decodePieces(batch);
    const verdicts = new Uint8Array(pieces.length);
    pieces.forEach((piece, i) => {
      const before = known.get(piece.number);
      const isTaken = before ?? this.adopt(tenant, piece, limits);
      known.set(piece.number, isTaken);
      if (known.size > MAX_REMEMBERED) known.delete(known.keys().next().value ?? 0);
      verdicts[i] = isTaken ? 1 : 0;
    });
    return verdicts;
  }

  /** False when it does not fit here. */
  adopt(tenant: Uint8Array, piece: RingPiece, limits: TenantLimits): boolean {
    const { store, desk, parts } = this.engine;
    const now = parts.nowMs();
    const share = store.share(tenant);
    const queue = store.ensure(share, piece.queue);
    for (const { group } of piece.groups) queue.group(group);
    const ring = queue.ring(piece.partition);
    queue.touchedMs = now;
    ring.touchedMs = now;
    const messages = { count: piece.payloads.length, payloadBytes: piece.payloadBytes };
    const evict = store.admit(share, ring, messages, limits);
    if (typeof evict === 'string') return messages.count === 0;
    if (evict > 0) queue.count('bounds', queue.drop(ring, ring.first + evict, true));
    const base = ring.next;
    ring.expect(messages.count, messages.payloadBytes);
    piece.payloads.forEach((payload, i) => {
      ring.append(payload, 0, payload.length, now - (piece.agesMs[i] ?? 0));
    });
    queue.charge(ring, messages.count, messages.payloadBytes);
    for (const { group, skipped, marks } of piece.groups) {
      const cursor = queue.cursor(ring, queue.group(group), now);
      cursor.skipped += skipped;
      for (const mark of marks) cursor.mark(base + mark.message, mark.state, mark.attempts);
    }
    queue.tidy(ring, now);
    desk.ringChanged(queue, ring.partition);
    return true;
  }

  private ofSender(sender: string): Map<number, boolean> {
    let known = this.taken.get(sender);
    if (known === undefined) {
      known = new Map();
      this.taken.set(sender, known);
      // Earlier processes of a node send nothing any more.
      const [node = ''] = sender.split(':');
      for (const key of [...this.taken.keys()]) {
        if (key !== sender && key.startsWith(`${node}:`)) this.taken.delete(key);
      }
    }
    return known;
  }
}
