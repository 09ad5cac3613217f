/** The background checks: damage stops the node once named, other errors do not, stopping ends them. */
import type { RowPage } from './group/ports.js';
import { BackgroundScrub, type ScrubPace } from './background-scrub.js';
import { WalDamageError, type ScrubOptions, type ScrubReport } from './wal/index.js';

const PACE: ScrubPace = {
  ...{ bytesPerSecond: 1e9, pauseMs: 600_000, rowsPerSecond: 1e9, storeEveryMs: 1 },
};
const DAMAGE = {
  file: '/d/wal/1.seg',
  byteOffset: 77,
  reason: 'checksum mismatch',
  cure: 'replace',
};
const REPORT: ScrubReport = { segments: 1, bytes: 10, damaged: 0 };

interface Scene {
  readonly scrub: BackgroundScrub;
  readonly lines: [string, Readonly<Record<string, unknown>>][];
  readonly damaged: Error[];
  readonly asked: Uint8Array[];
}

function scene(
  segments: (options: ScrubOptions) => Promise<ScrubReport>,
  pages: RowPage[] = [],
  pace = PACE,
): Scene {
  const lines: Scene['lines'] = [];
  const damaged: Error[] = [];
  const asked: Uint8Array[] = [];
  const note = (event: string, fields = {}): void => void lines.push([event, fields]);
  const store = {
    async *pages(range: { gte: Uint8Array }): AsyncGenerator<RowPage> {
      asked.push(range.gte);
      const page = await Promise.resolve(pages.shift());
      if (page !== undefined) yield page;
    },
  };
  const parts = {
    ...{ wal: { scrub: segments }, store },
    log: { info: note, warn: note, error: note },
    damaged: (error: Error): void => void damaged.push(error),
  };
  return { scrub: new BackgroundScrub(parts, pace), lines, damaged, asked };
}

const soon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 40));

/** Resolves a moment after the first line. */
async function told(lines: Scene['lines']): Promise<void> {
  const end = performance.now() + 60_000;
  do await soon();
  while (lines.length === 0 && performance.now() < end);
}

describe('background scrub', () => {
  it('reports damaged segments with file, byte and cure and stops the node', async () => {
    const { scrub, lines, damaged } = scene((options) => {
      options.onDamage(new WalDamageError(DAMAGE));
      return Promise.resolve({ ...REPORT, damaged: 1 });
    });
    scrub.start();
    await told(lines);
    await scrub.stop();
    expect(damaged).toHaveLength(1);
    expect(damaged[0]?.message).toContain('/d/wal/1.seg');
    const { file, reason, cure } = DAMAGE;
    expect(lines[0]).toEqual([
      'damaged segment found by the scrub',
      { file, byte: 77, reason, cure },
    ]);
  });

  it('goes on after a pass that could not read', async () => {
    const { scrub, lines, damaged } = scene(() => Promise.reject(new Error('EIO')));
    scrub.start();
    await told(lines);
    await scrub.stop();
    expect(damaged).toEqual([]);
    expect(lines[0]).toEqual(['scrub pass ended early', { error: 'Error: EIO' }]);
  });

  it('reads every row of the store, slice by slice from behind the last key', async () => {
    const row = (key: number): readonly [Uint8Array, Uint8Array] => [
      Uint8Array.of(key),
      new Uint8Array(1),
    ];
    const pace = { ...PACE, bytesPerSecond: 0 };
    const pages = [[row(3), row(4)], [row(9)]];
    const { scrub, lines, asked } = scene(() => Promise.resolve(REPORT), pages, pace);
    scrub.start();
    await told(lines);
    await scrub.stop();
    expect(asked.slice(0, 3)).toEqual([Uint8Array.of(0), Uint8Array.of(4, 0), Uint8Array.of(9, 0)]);
    expect(lines[0]).toEqual(['store scrubbed', { rows: 3 }]);
  });

  it('reads the segments again after the pause, and not before', async () => {
    for (const [pauseMs, again] of [
      [1, true],
      [600_000, false],
    ] as const) {
      let passes = 0;
      const count = (): Promise<ScrubReport> => {
        passes += 1;
        return Promise.resolve(REPORT);
      };
      const { scrub } = scene(count, [], { ...PACE, pauseMs, storeEveryMs: 0 });
      scrub.start();
      const end = performance.now() + 60_000;
      await soon();
      while (passes < (again ? 2 : 1) && performance.now() < end) await soon();
      await scrub.stop();
      expect([pauseMs, passes > 0, passes > 1]).toEqual([pauseMs, true, again]);
    }
  });

  it('is off at pace 0', async () => {
    const pace = { ...PACE, bytesPerSecond: 0, storeEveryMs: 0 };
    const { scrub, asked } = scene(() => Promise.reject(new Error('asked')), [], pace);
    scrub.start();
    await soon();
    await scrub.stop();
    expect(asked).toEqual([]);
  });
});
