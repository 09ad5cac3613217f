/**
 * A part of the damage suite for every run: one file of each kind, damaged in each way. All files at
 * twenty places after ten minutes of load: `npm run durability -- damage`.
 */
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import type { DamageReport } from './main.js';

const ROOT = resolve(__dirname, '../../..');
const LOAD_SECONDS = '1';
const PLACES = process.env['QUEEN_TEST_DAMAGE_PLACES'] ?? '1';

describe('a damaged data directory', () => {
  let report: DamageReport;

  beforeAll(() => {
    const script = join(ROOT, 'test/durability/run-main.mjs');
    const args = [script, 'damage/main.js', LOAD_SECONDS, PLACES, '--quick'];
    // Other places every day.
    const env = { ...process.env, QUEEN_TEST_DAMAGE_SEED: String(Math.floor(Date.now() / 864e5)) };
    const run = spawnSync(process.execPath, args, { encoding: 'utf8', env });
    report = JSON.parse(run.stdout.trim().split('\n').at(-1) ?? '{}') as DamageReport;
  }, 240_000);

  it('is refused, repaired without loss, or found: it never serves less', () => {
    expect(report.failures).toEqual([]);
  });

  it('had something of everything', () => {
    const count = (kind: string): number => report.files.filter((file) => file === kind).length;
    expect(count('wal/*.seg')).toBeGreaterThan(2);
    expect(count('wal/*-r.seg')).toBeGreaterThan(0);
    // Whether a segment is unlinked whole depends on where the dead letters lie.
    expect(Math.min(report.trimmed, report.rewritten)).toBeGreaterThan(0);
    expect(count('store/*.ldb')).toBeGreaterThan(1);
    expect(count('ids/*.run')).toBeGreaterThan(1);
    const cases = (damage: string): number =>
      report.rows.filter((row) => row.damage === damage).reduce((sum, row) => sum + row.cases, 0);
    for (const damage of ['flip', 'truncate', 'delete']) expect(cases(damage)).toBeGreaterThan(20);
    // Few LevelDB files have a twin or a predecessor, and how many depends on its compactions.
    for (const damage of ['swap', 'old']) expect(cases(damage)).toBeGreaterThan(1);
  });

  it('refuses whatever the start relies on', () => {
    const relied = ['identity', 'checkpoint', 'wal/manifest', 'store/CURRENT', 'store/MANIFEST'];
    for (const row of report.rows) {
      if (!relied.includes(row.kind) || row.damage !== 'delete') continue;
      expect([row.kind, row.refused]).toEqual([row.kind, row.cases]);
    }
  });
});
