/** Two rounds of restarts under load; `npm run ephemeral -- --rounds 20` runs more. */
import { ChurnRun } from './churn.js';
import { EphemeralScene } from './scene.js';

jest.setTimeout(480_000);

it('an owner that restarts loses no message, twice, under load', async () => {
  // Nobody is taken for dead because the machine is busy: every stop here is told.
  const scene = await EphemeralScene.start({ QUEEN_EPHEMERAL_MEMBER_TTL_MS: '15000' });
  try {
    const result = await new ChurnRun(scene, () => undefined).run(2);
    expect(result.missing).toEqual([]);
    expect(result.acknowledged).toBeGreaterThan(100);
    expect(result.rounds.map(({ handed }) => [handed.lost, handed.stillShipping])).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(result.rounds.every(({ handed }) => handed.rings > 0)).toBe(true);
    expect(result.wipes).toBe(0);
  } finally {
    await scene.remove();
  }
});
