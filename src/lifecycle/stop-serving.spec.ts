/** The end of the process: in time, cut when requests take too long, and late when nothing helps. */
import { stopServing, type StopParts } from './stop-serving.js';

const SOON = { silentMs: 7, cutMs: 60, endMs: 10_000 };
const NEVER = new Promise<void>(() => undefined);

function scene(close: (cut: Promise<void>) => Promise<void>): StopParts & { lines: string[] } {
  const lines: string[] = [];
  const note = (_level: string, text: string): number => lines.push(text);
  let cutNow: () => void = () => undefined;
  const cut = new Promise<void>((resolve) => (cutNow = resolve));
  const log = { info: (t: string) => note('info', t), warn: (t: string) => note('warn', t) };
  return {
    lines,
    log: log as unknown as StopParts['log'],
    connections: {
      closeIdle: (silentForMs) => {
        if (!lines.includes(`idle ${silentForMs}`)) lines.push(`idle ${silentForMs}`);
      },
      closeAll: () => cutNow(),
    },
    close: () => close(cut),
  };
}

describe('stopServing', () => {
  it('closes idle connections until everything ended', async () => {
    const parts = scene(() => new Promise((resolve) => setTimeout(resolve, 120)));
    expect(await stopServing(parts, { ...SOON, cutMs: 10_000 })).toBe(true);
    expect(parts.lines).toEqual(['idle 7']);
  });

  it('cuts what takes too long, and still ends', async () => {
    const parts = scene((cut) => cut);
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
