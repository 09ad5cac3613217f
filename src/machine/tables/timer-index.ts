/** The index rows of a timer, from its own row: what goes when the row is purged. */
import { keyTimerName, timerDueKey, timerPinKey } from './timer-keys.js';
import { decodeTimerRow, isInline, timerDue } from './timer-row.js';

export function timerIndexKeys(key: Uint8Array, value: Uint8Array): Uint8Array[] {
  const name = keyTimerName(key);
  const row = decodeTimerRow(value);
  const due = timerDueKey(timerDue(row), name);
  return isInline(row) ? [due] : [due, timerPinKey(row.place.entryIndex, name)];
}
