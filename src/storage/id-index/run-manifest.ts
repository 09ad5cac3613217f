/**
 * Which runs must be there: a row of the checkpoint beside the journal. A run that is named and missing
 * at a restart means that ids were lost from the index, which is then rebuilt from the append rows.
 *
 * It stands before the journal rows (numbered from 1), because what they fill may be sealed at once.
 *
 *   key    0c | 00 x 8
 *   value  u8 version=1 | n x { f64 firstSequence | f64 lastSequence }
 */
import { JOURNAL_KEYSPACE } from './journal.js';

const VERSION = 1;
const RANGE_BYTES = 16;

export const MANIFEST_KEY = Uint8Array.of(JOURNAL_KEYSPACE, ...new Array<number>(8).fill(0));

export interface SequenceRange {
  readonly firstSequence: number;
  readonly lastSequence: number;
}

export function isManifestKey(key: Uint8Array): boolean {
  return Buffer.compare(key, MANIFEST_KEY) === 0;
}

export function encodeRunManifest(runs: readonly SequenceRange[]): Uint8Array {
  const bytes = new Uint8Array(1 + runs.length * RANGE_BYTES);
  const view = new DataView(bytes.buffer);
  bytes[0] = VERSION;
  runs.forEach((run, i) => {
    view.setFloat64(1 + i * RANGE_BYTES, run.firstSequence, true);
    view.setFloat64(9 + i * RANGE_BYTES, run.lastSequence, true);
  });
  return bytes;
}

/** True when every sequence the manifest names lies in one of the runs that are there. */
export function manifestHolds(value: Uint8Array, present: readonly SequenceRange[]): boolean {
  if (value[0] !== VERSION) throw new Error(`id run manifest has version ${value[0]}`);
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  for (let at = 1; at + RANGE_BYTES <= value.length; at += RANGE_BYTES) {
    const first = view.getFloat64(at, true);
    const last = view.getFloat64(at + 8, true);
    for (let sequence = first; sequence <= last; sequence += 1) {
      const held = present.some(
        (run) => run.firstSequence <= sequence && sequence <= run.lastSequence,
      );
      if (!held) return false;
    }
  }
  return true;
}

/** Highest sequence the manifest names, 0 when it names none. */
export function lastNamed(value: Uint8Array): number {
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  let last = 0;
  for (let at = 1; at + RANGE_BYTES <= value.length; at += RANGE_BYTES) {
    last = Math.max(last, view.getFloat64(at + 8, true));
  }
  return last;
}
