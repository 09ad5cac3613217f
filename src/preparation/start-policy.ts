/**
 * The words of subscriptionMode and subscriptionFrom (messages.md §2.3): four spellings mean `new`,
 * anything else means `all`; `now` is `new` at the registration instant; an unparsable time is ignored.
 */
import { parseTimestamp } from '../common/timestamp.js';

const NEW_WORDS: ReadonlySet<string> = new Set(['new', 'new-only', 'new_only', 'newonly']);

export function isRegistrationNew(mode: string): boolean {
  return NEW_WORDS.has(mode.trim().toLowerCase());
}

/** µs of an ISO time, 'now', or null when absent or unparsable. */
export function parseStartInstant(text: string | undefined): number | 'now' | null {
  if (text === undefined) return null;
  const trimmed = text.trim();
  if (trimmed.toLowerCase() === 'now') return 'now';
  const micros = parseTimestamp(trimmed);
  // Nothing is older than 1970, and the log knows no time before it.
  return micros === undefined ? null : Math.max(micros, 0);
}
