/** The quorum and membership vectors, byte for byte. Skipped, not passed, when the folder is absent. */
import { basename, join } from 'node:path';
import { findTestdata, readScript, runScript, scriptFiles } from './datadriven.js';
import { membershipScript } from './membership-script.js';
import { handleQuorum } from './quorum-script.js';

const testdata = findTestdata();

if (testdata === undefined) {
  describe.skip('raft vectors (no raft-testdata folder)', () => {
    it('needs QUEEN_RAFT_TESTDATA or ../shared/raft-testdata', () => undefined);
  });
} else {
  const quorum = scriptFiles(join(testdata, 'quorum/testdata'));
  const membership = scriptFiles(join(testdata, 'confchange/testdata'));

  it('finds every file', () => {
    expect(quorum).toHaveLength(4);
    expect(membership).toHaveLength(9);
  });

  it.each(quorum.map((path) => [basename(path), path]))('quorum %s', (_name, path) => {
    expect(runScript(readScript(path), handleQuorum)).toBeUndefined();
  });

  it.each(membership.map((path) => [basename(path), path]))('membership %s', (_name, path) => {
    expect(runScript(readScript(path), membershipScript())).toBeUndefined();
  });
}
