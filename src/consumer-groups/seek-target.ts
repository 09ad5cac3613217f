/**
 * Where a seek goes (messages.md §10): to the end, or to the first message at or after an instant. The
 * offset is resolved before the log; columns answer what they can, else the append rows are searched.
 */
import type { FastifyRequest } from 'fastify';
import { QueenError } from '../common/errors.js';
import type { PartitionId, QueueId } from '../common/ids.js';
import { micros } from '../common/ids.js';
import { parseTimestamp } from '../common/timestamp.js';
import { isValidUtf8, readUtf8 } from '../common/utf8.js';
import { bodyBytes } from '../http/fastify-setup.js';
import type { CursorMove } from '../machine/commands/catalogue.js';
import type { Group, GroupView } from '../raft/index.js';
import { firstOffsetAtOrAfter } from '../reads/append-rows.js';

export interface SeekTarget {
  /** Null: the end. */
  readonly instantMicros: number | null;
  /** The time as it was sent. */
  readonly text: string | null;
}

const END: SeekTarget = { instantMicros: null, text: null };

/** An empty body means the end; null when the body names neither the end nor a time. */
export function parseSeek(request: FastifyRequest): SeekTarget | null {
  const bytes = bodyBytes(request);
  if (bytes.length === 0) return END;
  if (!isValidUtf8(bytes, 0, bytes.length)) {
    throw new QueenError('bad_body', 'the request body is not valid UTF-8');
  }
  let body: unknown;
  try {
    body = JSON.parse(readUtf8(bytes, 0, bytes.length));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new QueenError('bad_body', `invalid JSON: ${error.message}`);
  }
  if (body === null || typeof body !== 'object') return null;
  const { toEnd, timestamp } = body as { toEnd?: unknown; timestamp?: unknown };
  if (toEnd === true) return END;
  const instantMicros = typeof timestamp === 'string' ? parseTimestamp(timestamp) : undefined;
  return instantMicros === undefined ? null : { instantMicros, text: timestamp as string };
}

/** Moves of the named partitions; those that are gone are left out. */
export async function resolveMoves(
  group: Group,
  asked: { readonly queueId: QueueId; readonly partitions: readonly PartitionId[] },
  target: SeekTarget,
): Promise<CursorMove[]> {
  const moves: CursorMove[] = [];
  let view: GroupView | null = null;
  try {
    for (const partitionId of asked.partitions) {
      const known = fromColumns(group, partitionId, target);
      if (known === undefined) continue;
      if (known.committed !== null) {
        moves.push({ partitionId, committed: known.committed });
        continue;
      }
      view ??= await group.view();
      const { first, last } = known;
      const span = { queueId: asked.queueId, partitionId, first, last };
      const next = await firstOffsetAtOrAfter(view, span, micros(target.instantMicros ?? 0));
      moves.push({ partitionId, committed: next - 1 });
    }
  } finally {
    await view?.close();
  }
  return moves;
}

interface Known {
  /** Null: the append rows must be searched. */
  readonly committed: number | null;
  readonly first: number;
  readonly last: number;
}

function fromColumns(group: Group, id: PartitionId, target: SeekTarget): Known | undefined {
  const { partitions } = group.tables;
  const slot = partitions.byId(id);
  if (slot < 0) return undefined;
  const first = partitions.logStart(slot);
  const last = partitions.lastOffset(slot);
  const instant = target.instantMicros;
  const known = (committed: number | null): Known => ({ committed, first, last });
  if (instant === null || partitions.lastAppendAt(slot) < instant) return known(last);
  return known(partitions.createdAt(slot) >= instant ? first - 1 : null);
}
