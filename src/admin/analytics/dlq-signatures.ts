/**
 * What dead letters of a queue died of (admin.md §1.6): the newest ones folded by the text of their
 * error with everything that varies taken out, so that one cause is one line.
 */
import type { DeadLetterRow } from '../../machine/tables/dead-letter-row.js';
import { millisText } from '../rows/windows.js';
import type { DlqSignaturesDto } from './series.dto.js';

const MAX_SIGNATURES = 8;
const MAX_CHARS = 120;
const NO_MESSAGE = '(no message)';

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
const LONG_HEX = /\b[0-9a-f]{20,}\b/gi;
const DATE = /\d{4}-\d{2}-\d{2}(?:T[\d:.]*(?:Z)?)?/g;
const NUMBER = /\b\d+\b/g;

export function signatureOf(error: string): string {
  const text = error.trim();
  if (text === '') return NO_MESSAGE;
  return text
    .replace(UUID, '<id>')
    .replace(LONG_HEX, '<id>')
    .replace(DATE, '<date>')
    .replace(NUMBER, '<n>')
    .replace(/\s+/g, ' ')
    .slice(0, MAX_CHARS);
}

export interface LetterSample {
  readonly row: DeadLetterRow;
  readonly group: string;
}

/** `rowsNow`: all dead letters of the queue. */
export function foldSignatures(
  queue: string,
  rowsNow: number,
  letters: readonly LetterSample[],
): DlqSignaturesDto {
  const signatures = new Map<string, number>();
  const days = new Map<string, number>();
  const retries = new Set<number>();
  const groups = new Set<string>();
  let bytes = 0;
  for (const { row, group } of letters) {
    raise(signatures, signatureOf(row.error));
    raise(days, millisText(row.failedAt / 1000).slice(0, 10));
    retries.add(row.retryCount);
    groups.add(group);
    bytes += row.length;
  }
  const sample = letters.length;
  const [newest] = letters;
  const oldest = letters.at(-1);
  return {
    ...{ queue, rowsNow, sample },
    retryCounts: [...retries].sort((a, b) => a - b),
    groups: [...groups].sort(),
    oldest: oldest === undefined ? null : millisText(oldest.row.failedAt / 1000),
    newest: newest === undefined ? null : millisText(newest.row.failedAt / 1000),
    avgBytes: sample === 0 ? 0 : Math.round(bytes / sample),
    signatures: [...signatures]
      .sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
      .slice(0, MAX_SIGNATURES)
      .map(([text, n]) => ({ text, n, share: Math.round((n / sample) * 10_000) / 10_000 })),
    byDay: [...days].sort(([a], [b]) => (a < b ? -1 : 1)).map(([day, n]) => ({ day, n })),
  };
}

function raise(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
