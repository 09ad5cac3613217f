/** Copies of the sources for planted bugs, and Jest run in them. */
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './lists.mjs';

const folders = [];

/** A copy of these parts of the repository; gone after `removeSandboxes`. */
export function sandbox(copied) {
  const folder = mkdtempSync(join(tmpdir(), 'queen-mutants-'));
  folders.push(folder);
  for (const part of copied) {
    mkdirSync(dirname(join(folder, part)), { recursive: true });
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  }
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  const base = JSON.stringify(pathToFileURL(join(ROOT, 'jest.config.mjs')).href);
  writeFileSync(
    join(folder, 'jest.config.mjs'),
    `import base from ${base};\nexport default { ...base, roots: ['<rootDir>/src', '<rootDir>/test'] };\n`,
  );
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

export function removeSandboxes() {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** True when the specs fail, that is, the bug is noticed. */
export function isNoticed(folder, pattern, flags = []) {
  const jest = join(ROOT, 'node_modules/jest/bin/jest.js');
  const args = [jest, pattern, '--maxWorkers=1', '--bail', '--silent', ...flags];
  const env = {
    QUEEN_RAFT_TESTDATA: resolve(ROOT, '../shared/raft-testdata'),
    QUEEN_SIM_MILLIS: '10000',
    QUEEN_GROUP_SIM_MILLIS: '20000',
    ...process.env,
  };
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, args, { cwd: folder, env });
    let said = '';
    child.stdout.resume();
    child.stderr.on('data', (bytes) => (said += bytes));
    child.on('error', fail);
    child.on('close', (code) => {
      if (said.includes('No tests found')) fail(new Error(`no tests match ${pattern}`));
      else done(code !== 0);
    });
  });
}
