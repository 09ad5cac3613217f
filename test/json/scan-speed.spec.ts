/**
 * Runs scan-speed.mjs and fails when the push scanner lost its fast path or started to build objects
 * per item. Ratios only: both sides are measured in the same run.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

interface Measured {
  readonly name: string;
  readonly items: number;
  readonly scanned?: number;
  readonly parsed?: number;
  readonly refused?: boolean;
  readonly ms?: number;
  readonly heapGrown?: number;
}

describe('the speed of the push scanner', () => {
  it('keeps up with JSON.parse and makes no object per item', () => {
    const out = execFileSync(process.execPath, [join(__dirname, 'scan-speed.mjs')], {
      encoding: 'utf8',
    });
    process.stdout.write(out);
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Measured);
    for (const { name, items, scanned = 0, parsed = 0 } of lines.slice(0, -1)) {
      expect([name, items, scanned > parsed / 2]).toEqual([name, 100, true]);
    }
    const large = lines.at(-1)!;
    expect(large.refused).toBe(false);
    expect(large.items).toBeGreaterThan(800_000);
    expect(large.heapGrown).toBeLessThan(8 << 20);
  }, 180_000);
});
