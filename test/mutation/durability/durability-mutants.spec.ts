/**
 * A part of the mutants of the durability suites for every run, another one every day. All of them:
 * `npm run mutation -- --durability`.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const PARTS = 12;
const DAY_MS = 86_400_000;

describe('mutants of the durability suites', () => {
  it('are noticed', () => {
    const part = (Math.floor(Date.now() / DAY_MS) % PARTS) + 1;
    const script = join(__dirname, 'run.mjs');
    const args = [script, '--known', '--part', `${part}/${PARTS}`];
    const run = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(run.stdout).toMatch(/[1-9]\d* mutants, 0 not killed/);
    expect(run.status).toBe(0);
  }, 400_000);
});
