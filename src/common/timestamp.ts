/**
 * Times are integer microseconds since the Unix epoch. Text out: UTC with 6 or 3 fraction digits and
 * `Z`. Text in: ISO-8601, resolved to milliseconds (finer digits are cut). No Date: civil dates are
 * Howard Hinnant's days_from_civil / civil_from_days (proleptic Gregorian).
 * Microseconds must be safe integers, so times beyond 1684 … 2255 are held at that edge.
 */

import { readUtf8 } from './utf8.js';

const SECOND_MICROS = 1_000_000;
const DAY_SECONDS = 86_400;

/** Latest time, a whole millisecond: 2255-06-05T23:47:34.740Z. The earliest is its negative. */
export const MAX_MICROS = 9_007_199_254_740_000;

/** Days since 1970-01-01 of a civil date (month 1 … 12). */
export function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

const DIGIT_0 = 0x30;

function writeDigits(target: Uint8Array, at: number, value: number, count: number): void {
  let rest = value;
  for (let p = at + count - 1; p >= at; p--) {
    const tenth = (rest / 10) | 0;
    target[p] = DIGIT_0 + (rest - tenth * 10);
    rest = tenth;
  }
}

/** Writes `2026-03-04` for a day number and leaves the position to the caller (10 bytes). */
function writeDate(target: Uint8Array, at: number, days: number): void {
  const z = days + 719_468;
  const era = Math.floor(z / 146_097);
  const dayOfEra = z - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shifted = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shifted + 2) / 5) + 1;
  const month = shifted < 10 ? shifted + 3 : shifted - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  writeDigits(target, at, year, 4);
  target[at + 4] = 0x2d;
  writeDigits(target, at + 5, month, 2);
  target[at + 7] = 0x2d;
  writeDigits(target, at + 8, day, 2);
}

export const MICROS_TEXT_BYTES = 27;
export const MILLIS_TEXT_BYTES = 24;

/**
 * Writes the text form (ASCII) with 6 or 3 fraction digits and returns the position after it: 27 or
 * 24 bytes.
 */
export function writeTimestamp(
  micros: number,
  digits: 6 | 3,
  target: Uint8Array,
  at: number,
): number {
  const second = Math.floor(micros / SECOND_MICROS);
  const fraction = micros - second * SECOND_MICROS;
  if (second !== lastSecond) writeSecond(second);
  for (let i = 0; i < SECOND_TEXT_BYTES; i++) target[at + i] = lastSecondText[i] ?? 0;
  writeDigits(target, at + 20, digits === 6 ? fraction : Math.floor(fraction / 1000), digits);
  target[at + 20 + digits] = 0x5a;
  return at + 21 + digits;
}

/** `2026-03-04T05:06:07.` of the second written last: neighbours in an answer mostly share it. */
const SECOND_TEXT_BYTES = 20;
const lastSecondText = new Uint8Array(SECOND_TEXT_BYTES);
let lastSecond = Number.NaN;

function writeSecond(second: number): void {
  const days = Math.floor(second / DAY_SECONDS);
  const secondOfDay = second - days * DAY_SECONDS;
  const minuteOfDay = Math.floor(secondOfDay / 60);
  const hour = Math.floor(minuteOfDay / 60);
  const text = lastSecondText;
  writeDate(text, 0, days);
  text[10] = 0x54;
  writeDigits(text, 11, hour, 2);
  text[13] = 0x3a;
  writeDigits(text, 14, minuteOfDay - hour * 60, 2);
  text[16] = 0x3a;
  writeDigits(text, 17, secondOfDay - minuteOfDay * 60, 2);
  text[19] = 0x2e;
  lastSecond = second;
}

const textScratch = new Uint8Array(MICROS_TEXT_BYTES);

/** `2026-03-04T05:06:07.123456Z` */
export function timestampText(micros: number): string {
  return readUtf8(textScratch, 0, writeTimestamp(micros, 6, textScratch, 0));
}

/** `2026-03-04T05:06:07.123Z` */
export function timestampMillisText(micros: number): string {
  return readUtf8(textScratch, 0, writeTimestamp(micros, 3, textScratch, 0));
}

const ISO_8601 =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)?)?$/;
const LONGEST_TEXT = 64;

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/**
 * Parses `2026-03-04`, `2026-03-04T05:06`, `…T05:06:07.123456Z`, `…+02:00` (also `+0200`, `+02`, a
 * space for `T`; no zone means UTC) to microseconds at millisecond resolution. A leap second counts as
 * the next second. Undefined when the text is no such time.
 */
export function parseTimestamp(text: string): number | undefined {
  if (text.length > LONGEST_TEXT) return undefined;
  const match = ISO_8601.exec(text.trim());
  if (match === null) return undefined;
  const part = (index: number): number => Number(match[index] ?? 0);
  const [year, month, day] = [part(1), part(2), part(3)];
  const [hour, minute, second] = [part(4), part(5), part(6)];
  const [zoneHour, zoneMinute] = [part(10), part(11)];
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 60 || zoneHour > 23 || zoneMinute > 59) return undefined;
  const zoneSeconds = (zoneHour * 60 + zoneMinute) * 60 * (match[9] === '-' ? -1 : 1);
  const seconds =
    daysFromCivil(year, month, day) * DAY_SECONDS +
    (hour * 60 + minute) * 60 +
    second -
    zoneSeconds;
  const millis = Number((match[7] ?? '').slice(0, 3).padEnd(3, '0'));
  const micros = seconds * SECOND_MICROS + millis * 1000;
  return Math.max(-MAX_MICROS, Math.min(MAX_MICROS, micros));
}
