/**
 * A part of the power-loss suite for every run: seeds that change from day to day and every seed that
 * ever failed. The whole list: `npm run durability -- power-loss --seeds 1000`.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { PowerLossReport } from './main.js';

const ROOT = resolve(__dirname, '../../..');
const ROTATING = Number(process.env['QUEEN_TEST_POWER_LOSS_SEEDS'] ?? 24);
const DAY_MS = 86_400_000;
const SEEDS_BEFORE_REPEAT = 1_000_000;

function failedSeeds(): number[] {
  const file = join(__dirname, 'failed-seeds.json');
  const { seeds } = JSON.parse(readFileSync(file, 'utf8')) as { seeds: Record<string, string> };
  return Object.keys(seeds).map(Number);
}

function rotatingSeeds(): number[] {
  const day = Math.floor(Date.now() / DAY_MS);
  const first = 2000 + ((day * ROTATING) % SEEDS_BEFORE_REPEAT);
  return Array.from({ length: ROTATING }, (_, i) => first + i);
}

describe('the whole node under kill and power loss', () => {
  it('holds every answer it gave', () => {
    const seeds = [...failedSeeds(), ...rotatingSeeds()].join(',');
    const script = join(ROOT, 'test/durability/run-main.mjs');
    const run = spawnSync(process.execPath, [script, 'power-loss/main.js', seeds], {
      encoding: 'utf8',
    });
    const report = JSON.parse(run.stdout.trim().split('\n').at(-1) ?? '{}') as PowerLossReport;
    expect(report.failures).toEqual([]);
    expect(report.seeds).toBeGreaterThan(ROTATING);
    // The suite must have met what it is about.
    for (const met of [report.powerLosses, report.crashesInStart, report.replayed]) {
      expect(met).toBeGreaterThan(ROTATING / 4);
    }
    expect(report.answers).toBeGreaterThan(ROTATING * 50);
    expect(report.cutTails).toBeGreaterThan(0);
    for (const met of [report.trimmed, report.unlinked, report.rewritten]) {
      expect(met).toBeGreaterThan(ROTATING / 4);
    }
  }, 480_000);
});
