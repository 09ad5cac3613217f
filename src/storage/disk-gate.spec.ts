/** The marks of the disk gate, and a filesystem that does not answer. */
import { tmpdir } from 'node:os';
import { DiskGate, type DiskPressure, type DiskUsage } from './disk-gate.js';

/** 1000 blocks, 50 of them kept for root. */
const used = (blocks: number): DiskUsage => ({
  blocks: 1000,
  bfree: 1000 - blocks,
  bavail: Math.max(0, 950 - blocks),
});

function gateOver(
  usages: (DiskUsage | Error)[],
  limits: { highPercent?: number; lowPercent?: number } = {},
): { gate: DiskGate; seen: DiskPressure[]; errors: unknown[] } {
  const errors: unknown[] = [];
  const gate = new DiskGate({
    directory: '/data',
    ...limits,
    readUsage: async () => {
      const next = usages.shift()!;
      if (next instanceof Error) throw next;
      return next;
    },
    onError: (error) => errors.push(error),
  });
  const seen: DiskPressure[] = [];
  gate.onChange((pressure) => seen.push(pressure));
  return { gate, seen, errors };
}

describe('disk gate', () => {
  test('closes at the high mark, opens below the low one, stays as it is between', async () => {
    const percents: [blocks: number, isFull: boolean][] = [
      [760, false], // 80 %
      [807, false], // 84.9 %
      [808, true], // 85.05 %
      [765, true], // 80.5 %
      [759, false], // 79.9 %
      [800, false],
    ];
    const { gate, seen } = gateOver(percents.map(([blocks]) => used(blocks)));
    for (const [, isFull] of percents) {
      await gate.poll();
      expect(gate.isFull).toBe(isFull);
    }
    expect(seen.map(({ isFull }) => isFull)).toEqual([true, false]);
  });

  test.each([0, 101, -5, NaN])('a mark of %d keeps the default', async (mark) => {
    const { gate } = gateOver([used(808)], { highPercent: mark, lowPercent: mark });
    await gate.poll();
    expect(gate.isFull).toBe(true);
  });

  test('a filesystem that does not answer changes nothing and is reported', async () => {
    const { gate, seen, errors } = gateOver([used(900), new Error('stale handle'), used(100)]);
    await gate.poll();
    await gate.poll();
    expect(gate.isFull).toBe(true);
    expect(errors).toHaveLength(1);
    await gate.poll();
    expect(seen).toHaveLength(2);
  });

  test('the real statfs is understood', async () => {
    const gate = new DiskGate({ directory: tmpdir() });
    await gate.start();
    expect(gate.usedPercent).toBeGreaterThan(0);
    expect(gate.usedPercent).toBeLessThanOrEqual(100);
    gate.stop();
  });
});
