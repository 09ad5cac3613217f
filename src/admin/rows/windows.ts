/**
 * Windows and buckets of the analytics (admin.md §1.6): from and to, the width of a bucket from the span,
 * and which bucket a time falls in. A bucket starts at a minute of its hour, so that the widest one is
 * an hour wide in time but counts as its own minutes in rates.
 */
import { HttpException } from '@nestjs/common';
import { parseTimestamp, timestampMillisText, timestampText } from '../../common/timestamp.js';
import { textOrUndefined, type QueryValues } from '../../http/query.js';

const MINUTE_MS = 60_000;
const HOUR_MINUTES = 60;
const DEFAULT_SPAN_MS = HOUR_MINUTES * MINUTE_MS;
/** Span in minutes up to which a width holds. */
const WIDTHS: readonly (readonly [number, number])[] = [
  [60, 1],
  [360, 5],
  [1_440, 15],
  [10_080, 60],
];
const WIDEST = 360;

export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
  readonly widthMinutes: number;
}

/** A time that cannot be read: 500, as clients of this API know it. */
export class WindowError extends HttpException {
  constructor(text: string) {
    super(`invalid input syntax for type timestamp with time zone: "${text}"`, 500);
  }
}

export function parseWindow(
  query: QueryValues,
  nowMs: number,
  options: { readonly unroundedSpan?: boolean } = {},
): Window {
  const at = (name: 'from' | 'to', fallback: number): number => {
    const text = textOrUndefined(query, name);
    if (text === undefined) return fallback;
    const micros = parseTimestamp(text);
    if (micros === undefined) throw new WindowError(text);
    return micros / 1000;
  };
  const fromMs = at('from', nowMs - DEFAULT_SPAN_MS);
  const toMs = at('to', nowMs);
  const span = (toMs - fromMs) / MINUTE_MS;
  const widthMinutes = bucketWidth(options.unroundedSpan === true ? span : Math.round(span));
  return { fromMs, toMs, widthMinutes };
}

export function bucketWidth(spanMinutes: number): number {
  return WIDTHS.find(([most]) => spanMinutes <= most)?.[1] ?? WIDEST;
}

export function bucketStartMs(atMs: number, widthMinutes: number): number {
  const minute = Math.floor(atMs / MINUTE_MS);
  const minuteOfHour = ((minute % HOUR_MINUTES) + HOUR_MINUTES) % HOUR_MINUTES;
  return (minute - (minuteOfHour % widthMinutes)) * MINUTE_MS;
}

/** Buckets between two times, both ends included. */
export function bucketAxis({ fromMs, toMs, widthMinutes }: Window): number[] {
  const stepMs = Math.min(widthMinutes, HOUR_MINUTES) * MINUTE_MS;
  const axis: number[] = [];
  for (let at = bucketStartMs(fromMs, widthMinutes); at <= toMs; at += stepMs) axis.push(at);
  return axis;
}

export const bucketCount = ({ fromMs, toMs, widthMinutes }: Window): number =>
  Math.floor((toMs - fromMs) / (Math.min(widthMinutes, HOUR_MINUTES) * MINUTE_MS)) + 1;

/** `2026-01-02T03:04:05Z`. */
export function secondsText(ms: number): string {
  return `${timestampMillisText(ms * 1000).slice(0, 19)}Z`;
}

export const millisText = (ms: number): string => timestampMillisText(ms * 1000);
export const microsText = timestampText;

export interface TimeRange {
  readonly from: string;
  readonly to: string;
}

export function timeRange({ fromMs, toMs }: Window): TimeRange {
  return { from: millisText(fromMs), to: millisText(toMs) };
}

/** Two decimals, as every rate of the analytics. */
export const round2 = (value: number): number => Math.round(value * 100) / 100;

/** Per second over a whole bucket. */
export function perSecond(count: number, widthMinutes: number): number {
  return round2(count / (widthMinutes * HOUR_MINUTES));
}
