/** Counts and sums exactly; quantiles within a bucket, and only over the last windows. */
import { QuantileSummary } from './quantile-summary.js';

const BUCKET = 2 ** (1 / 8);

function expectNear(actual: number, exact: number): void {
  expect(actual).toBeGreaterThanOrEqual(exact);
  expect(actual).toBeLessThanOrEqual(exact * BUCKET * 1.000001);
}

it('knows nothing before the first sample', () => {
  const summary = new QuantileSummary();
  expect(summary.quantile(0.5, 0)).toBeNaN();
  expect([summary.count, summary.sum]).toEqual([0, 0]);
});

it('gives quantiles within one bucket', () => {
  const summary = new QuantileSummary();
  for (let i = 1; i <= 1_000; i += 1) summary.observe(i * 10, 0);
  expect([summary.count, summary.sum]).toEqual([1_000, 5_005_000]);
  expectNear(summary.quantile(0.5, 1), 5_000);
  expectNear(summary.quantile(0.99, 1), 9_900);
  expectNear(summary.quantile(1, 1), 10_000);
  expectNear(summary.quantile(0, 1), 10);
});

it('takes samples below one and above every bucket', () => {
  const summary = new QuantileSummary();
  summary.observe(0, 0);
  summary.observe(1e30, 0);
  expect(summary.quantile(0.5, 0)).toBeCloseTo(BUCKET);
  expect(summary.quantile(1, 0)).toBe(2 ** 40);
});

it('forgets samples after two windows, but never the count', () => {
  const summary = new QuantileSummary();
  summary.observe(1_000, 0);
  summary.observe(8, 60_000);
  expectNear(summary.quantile(1, 60_001), 1_000);
  expectNear(summary.quantile(1, 120_000), 8);
  expect(summary.quantile(1, 240_000)).toBeNaN();
  summary.observe(64, 240_001);
  expectNear(summary.quantile(0, 240_002), 64);
  expect([summary.count, summary.sum]).toEqual([3, 1_072]);
});
