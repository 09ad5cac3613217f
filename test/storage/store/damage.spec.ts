import { runDamageSuite, type DamageReport } from './damage-suite.js';
import { buildStore, removeBuilds } from './support/build-store.js';

jest.setTimeout(300_000);

afterAll(removeBuilds);

const placesPerFile = Number(process.env['QUEEN_TEST_DAMAGE_PLACES'] ?? 20);

describe('damage of every file of a store', () => {
  let report: DamageReport;
  beforeAll(async () => {
    const options = { seed: 5, checkpoints: 60, placesPerFile };
    report = await runDamageSuite(buildStore(), options);
  });

  const outcome = (key: string): number => report.outcomes[key] ?? 0;

  test('it never opens with less, and every refusal names file and cure', () => {
    expect(report.failures).toEqual([]);
    expect(report.tried).toBeGreaterThan(200);
  });

  test('tables of several levels were there, and no damage of a live one goes through', () => {
    expect(report.levels.length).toBeGreaterThan(1);
    for (const fault of ['flip', 'truncate', 'delete', 'swap']) {
      expect(outcome(`table ${fault}: refused`)).toBeGreaterThan(0);
      expect(outcome(`table ${fault}: opened whole`)).toBe(0);
    }
  });

  test.each(['log', 'MANIFEST', 'CURRENT', 'checkpoint'])('a damaged %s is refused', (kind) => {
    for (const fault of ['flip', 'truncate', 'delete']) {
      expect(outcome(`${kind} ${fault}: refused`)).toBeGreaterThan(0);
    }
    expect(outcome(`${kind} delete: opened whole`)).toBe(0);
  });

  test('what has no effect is tolerated', () => {
    for (const kind of ['LOG', 'LOCK', 'leftover'])
      expect(outcome(`${kind} delete: refused`)).toBe(0);
  });
});
