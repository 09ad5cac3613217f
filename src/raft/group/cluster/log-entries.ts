/**
 * Core entries as apply takes them. Blank and membership entries carry no commands: apply sees an empty
 * payload and only moves its index on.
 */
import type { Entry } from '../../core/index.js';
import { ENTRY_HEADER_BYTES } from '../entry-payload.js';
import type { LogEntry } from '../ports.js';

const COUNT_AT = 10;

export function isEmptyEntry(entry: Entry): boolean {
  return entry.kind === 'normal' && entry.data.length === 0;
}

export function toLogEntry(entry: Entry): LogEntry {
  const { index, term, data } = entry;
  const carries = entry.kind === 'normal' && data.length >= ENTRY_HEADER_BYTES;
  return {
    index,
    term,
    parts: carries ? [data] : [],
    sizeBytes: carries ? data.length : 0,
    commandCount: carries ? commandCount(data) : 0,
  };
}

function commandCount(data: Uint8Array): number {
  return new DataView(data.buffer, data.byteOffset, data.byteLength).getUint32(COUNT_AT, true);
}
