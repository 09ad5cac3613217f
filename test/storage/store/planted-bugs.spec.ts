/**
 * The suites must be able to fail: each bug is planted into the text of the store, built, and run.
 */
import { runCrashSuite } from './crash-suite.js';
import { runDamageSuite } from './damage-suite.js';
import { buildStore, removeBuilds, type PlantedBug } from './support/build-store.js';

jest.setTimeout(180_000);

afterAll(removeBuilds);

const unsynced: PlantedBug[] = [
  {
    file: 'store.ts',
    find: 'batch.write({ sync: true })',
    replace: 'batch.write({ sync: false })',
  },
];

const tablesUnchecked: PlantedBug[] = [
  {
    file: 'leveldb/verifier.ts',
    find: 'const checkedBytes = await checkTables(input, names, version);',
    replace: 'const checkedBytes = 0;',
  },
];

/** Everything that reads the record is told that nothing was confirmed. */
const recordIgnored: PlantedBug[] = [
  {
    file: 'leveldb/log-files.ts',
    find: 'return log.number === record.logNumber ? record.logLength : 0;',
    replace: 'return 0;',
  },
  {
    file: 'leveldb/log-files.ts',
    find: 'if (log.number < record.logNumber) return log.bytes.length;',
    replace: '',
  },
  {
    file: 'leveldb/log-files.ts',
    find: '(isConfirmed ? undefined : record.checkpoint)',
    replace: 'undefined',
  },
  { file: 'leveldb/log-files.ts', find: 'this.known.required + 1', replace: 'Infinity' },
  { file: 'leveldb/log-files.ts', find: 'this.lastCheckpoint >= required', replace: 'true' },
  { file: 'store.ts', find: 'meta.checkpoint < required', replace: 'false' },
  { file: 'store.ts', find: 'meta.checkpoint > required + 1', replace: 'false' },
  { file: 'store.ts', find: 'if (required === 0) return undefined;', replace: 'return undefined;' },
];

describe('planted bugs', () => {
  test('batches without sync: the crash suite finds lost checkpoints', async () => {
    const options = { seed: 21, rounds: 12, keepsFailed: false };
    const report = await runCrashSuite(buildStore(unsynced), options);
    expect(report.failures.join('\n')).toMatch(/refused: store damaged|opened at/);
  });

  test('tables not verified: the damage suite finds damage that opens', async () => {
    const options = { seed: 5, checkpoints: 60, placesPerFile: 5, kinds: ['table'] };
    const report = await runDamageSuite(buildStore(tablesUnchecked), options);
    expect(report.outcomes['nothing none: opened whole']).toBe(1);
    expect(report.failures.join('\n')).toMatch(/OPENED DAMAGED|OPENED WITH|CRASHED|WITHOUT FILE/);
  });

  test('checkpoint record not used: the damage suite finds lost checkpoints', async () => {
    const options = { seed: 5, checkpoints: 60, placesPerFile: 8, kinds: ['log'] };
    const report = await runDamageSuite(buildStore(recordIgnored), options);
    expect(report.outcomes['nothing none: opened whole']).toBe(1);
    expect(report.failures.join('\n')).toMatch(/OPENED WITH LESS/);
  });
});
