/**
 * The 28 interaction scripts, log lines included, byte for byte; and the scripts of our own in
 * test/scenarios in the same format. Skipped, not passed, when the shared folder is absent.
 */
import { basename, join, resolve } from 'node:path';
import { existsSync } from 'node:fs';
import { findTestdata, readScript, runScript, scriptFiles } from './datadriven.js';
import { InteractionScript } from './interaction-script.js';
import { rewriteScenario } from './rewrite-scenarios.js';

function play(path: string): string | undefined {
  const script = new InteractionScript();
  return runScript(readScript(path), (directive) => script.handle(directive));
}

const testdata = findTestdata();

if (testdata === undefined) {
  describe.skip('interaction scripts (no raft-testdata folder)', () => {
    it('needs QUEEN_RAFT_TESTDATA or ../shared/raft-testdata', () => undefined);
  });
} else {
  const scripts = scriptFiles(join(testdata, 'testdata'));

  it('finds every script', () => {
    expect(scripts).toHaveLength(28);
  });

  it.each(scripts.map((path) => [basename(path), path]))('script %s', (_name, path) => {
    expect(play(path)).toBeUndefined();
  });
}

const own = resolve(__dirname, '../scenarios');

describe('own scenarios', () => {
  const scripts = existsSync(own) ? scriptFiles(own) : [];
  if (process.env['QUEEN_REWRITE_SCENARIOS'] === '1') scripts.forEach(rewriteScenario);

  it('has scripts', () => {
    expect(scripts.length).toBeGreaterThan(0);
  });

  it.each(scripts.map((path) => [basename(path), path]))('script %s', (_name, path) => {
    expect(play(path)).toBeUndefined();
  });
});
