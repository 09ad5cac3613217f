/** How numbers, sizes and times are written. What is unknown is a dash, never 0. */
const DASH = '—';
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

type Maybe = number | null | undefined;

const isKnown = (value: Maybe): value is number => typeof value === 'number' && isFinite(value);

/** `1,234`; from 100,000 on `123.4K`. */
export function count(value: Maybe): string {
  if (!isKnown(value)) return DASH;
  return Math.abs(value) < 100_000 ? whole.format(value) : short.format(value);
}

export function decimal(value: Maybe, digits = 2): string {
  if (!isKnown(value)) return DASH;
  return value >= 1000 ? count(value) : String(Number(value.toFixed(digits)));
}

export const rate = (value: Maybe): string => (isKnown(value) ? `${decimal(value)}/s` : DASH);
export const percent = (value: Maybe): string => (isKnown(value) ? `${decimal(value, 1)} %` : DASH);

export function bytes(value: Maybe): string {
  if (!isKnown(value)) return DASH;
  let unit = 0;
  let rest = value;
  while (rest >= 1024 && unit < UNITS.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${decimal(rest, 1)} ${UNITS[unit]}`;
}

export function millis(value: Maybe): string {
  if (!isKnown(value)) return DASH;
  return value < 1000 ? `${decimal(value, 1)} ms` : seconds(value / 1000);
}

const STEPS: readonly (readonly [number, string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'm'],
];

/** `42s`, `3m 5s`, `2h 10m`, `4d 3h`. */
export function seconds(value: Maybe): string {
  if (!isKnown(value)) return DASH;
  const rounded = Math.round(value);
  const at = STEPS.findIndex(([size]) => rounded >= size);
  if (at < 0) return `${value < 10 ? decimal(value, 1) : rounded}s`;
  const [size, name] = STEPS[at] ?? [1, 's'];
  const [nextSize, nextName] = STEPS[at + 1] ?? [1, 's'];
  const rest = Math.floor((rounded % size) / nextSize);
  return `${Math.floor(rounded / size)}${name}${rest === 0 ? '' : ` ${rest}${nextName}`}`;
}

const pad = (value: number): string => String(value).padStart(2, '0');

/** `2026-03-04 06:06:07` in the viewer's zone. */
export function localTime(at: string | number): string {
  const date = new Date(at);
  if (isNaN(date.getTime())) return DASH;
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${clock(date)}`;
}

export const clock = (date: Date): string =>
  `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;

/** `05:06:07 UTC`, with the day when it is another one than here. */
export function utcTime(at: string | number): string {
  const date = new Date(at);
  if (isNaN(date.getTime())) return '';
  const text = date.toISOString();
  const day = text.slice(0, 10) === localTime(at).slice(0, 10) ? '' : `${text.slice(5, 10)} `;
  return `${day}${text.slice(11, 19)} UTC`;
}

/** `3m ago`, `in 2h`. */
export function relative(at: string | number, now = Date.now()): string {
  const away = (new Date(at).getTime() - now) / 1000;
  if (isNaN(away)) return DASH;
  if (Math.abs(away) < 2) return 'now';
  const [first = ''] = seconds(Math.abs(away)).split(' ');
  return away < 0 ? `${first} ago` : `in ${first}`;
}

/** For `datetime-local` inputs, which know no zone. */
export function inputTime(ms: number): string {
  return localTime(ms).replace(' ', 'T').slice(0, 16);
}

export function inputToIso(text: string): string | undefined {
  const date = new Date(text);
  return text === '' || isNaN(date.getTime()) ? undefined : date.toISOString();
}

export function json(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? 'undefined';
}
