import { runCrashSuite } from './crash-suite.js';
import { buildStore, removeBuilds } from './support/build-store.js';

jest.setTimeout(120_000);

afterAll(removeBuilds);

const rounds = Number(process.env['QUEEN_TEST_CRASH_ROUNDS'] ?? 12);

describe('kill -9 and power loss', () => {
  let build: string;
  beforeAll(() => (build = buildStore()));

  test.each([11, 12])('every start holds every confirmed checkpoint, seed %i', async (seed) => {
    const report = await runCrashSuite(build, { seed, rounds });
    expect(report.failures).toEqual([]);
    // The suite must have met what it is about.
    expect(report.confirmed).toBeGreaterThan(rounds);
    expect(report.damagedPages).toBeGreaterThan(0);
    expect(report.cutBytes).toBeGreaterThan(0);
  });
});
