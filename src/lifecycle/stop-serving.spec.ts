/** The end of the process: in time, cut when requests take too long, and late when nothing helps. */
import { stopServing, type StopParts } from './stop-serving.js';

/** What is not to happen: no stall of a busy machine is that long. */
const LATE_MS = 600_000;
const SOON = { silentMs: 7, cutMs: 60, endMs: LATE_MS };
const NEVER = new Promise<void>(() => undefined);

/** `cut`: all connections are closed. `swept`: the idle ones were closed three times. */
type Moments = Readonly<Record<'cut' | 'swept', Promise<void>>>;

function scene(close: (when: Moments) => Promise<void>): StopParts & { lines: string[] } {
  const lines: string[] = [];
  const note = (_level: string, text: string): number => lines.push(text);
  let [cutNow, sweptNow, sweeps] = [(): void => undefined, (): void => undefined, 0];
  const cut = new Promise<void>((resolve) => (cutNow = resolve));
  const swept = new Promise<void>((resolve) => (sweptNow = resolve));
  const log = { info: (t: string) => note('info', t), warn: (t: string) => note('warn', t) };
  return {
    lines,
    log: log as unknown as StopParts['log'],
    connections: {
      closeIdle: (silentForMs) => {
        lines.push(`idle ${silentForMs}`);
        sweeps += 1;
        if (sweeps === 3) sweptNow();
      },
      closeAll: () => cutNow(),
    },
    close: () => close({ cut, swept }),
  };
}

describe('stopServing', () => {
  it('closes idle connections until everything ended', async () => {
    const parts = scene(({ swept }) => swept);
    expect(await stopServing(parts, { ...SOON, cutMs: LATE_MS })).toBe(true);
    expect(parts.lines).toEqual(['idle 7', 'idle 7', 'idle 7']);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(parts.lines).toHaveLength(3);
  });

  it('cuts what takes too long, and still ends', async () => {
    const parts = scene(({ cut }) => cut);
    expect(await stopServing(parts, SOON)).toBe(true);
    expect(parts.lines).toContainEqual(expect.stringContaining('their connections are cut'));
  });

  it('ends all the same when nothing helps', async () => {
    expect(
      await stopServing(
        scene(() => NEVER),
        { silentMs: 7, cutMs: 20, endMs: 60 },
      ),
    ).toBe(false);
  });

  it('tells a step that failed', async () => {
    const failing = scene(() => Promise.reject(new Error('disk')));
    await expect(stopServing(failing, SOON)).rejects.toThrow('disk');
  });
});
