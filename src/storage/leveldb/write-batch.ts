/**
 * LevelDB's write batch, the payload of a record in `*.log`. Each of ours is one checkpoint and
 * holds our meta row, which says which.
 *
 *   batch = sequence u64 LE | count u32 LE | count x ( 1 key value | 0 key )     (length-prefixed)
 */
import { sealHolds, SEAL_BYTES } from '../sealed-row.js';
import { META_KEY, decodeMeta, type StoredMeta } from '../store-meta.js';
import { ByteCursor, MalformedBytes } from './byte-cursor.js';

export interface BatchFacts {
  firstSequence: number;
  lastSequence: number;
  meta: StoredMeta;
}

/** Checks the whole structure. Throws MalformedBytes (offsets within the batch). */
export function readBatch(payload: Buffer): BatchFacts {
  const cursor = new ByteCursor(payload);
  const firstSequence = cursor.fixed64();
  const count = cursor.fixed32();
  let metaValue: Buffer | undefined;
  for (let i = 0; i < count; i++) {
    const tag = cursor.byte();
    if (tag > 1) throw new MalformedBytes(cursor.position, `unknown batch tag ${tag}`);
    const key = cursor.lengthPrefixed();
    if (tag === 0) continue;
    const value = cursor.lengthPrefixed();
    if (key[0] === META_KEY[0] && key.equals(META_KEY)) metaValue = value;
  }
  if (!cursor.atEnd) throw new MalformedBytes(cursor.position, 'a batch holds more than it counts');
  if (metaValue === undefined || !sealHolds(META_KEY, metaValue)) {
    throw new MalformedBytes(0, 'a batch holds no meta row of a checkpoint');
  }
  const meta = decodeMeta(metaValue.subarray(SEAL_BYTES));
  if (meta === undefined) throw new MalformedBytes(0, 'a meta row this build cannot read');
  return { firstSequence, lastSequence: firstSequence + count - 1, meta };
}
