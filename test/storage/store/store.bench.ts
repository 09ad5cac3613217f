/** Measurements, on request: `npx jest --testMatch '**\/store.bench.ts' --maxWorkers=1`. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { buildStore, removeBuilds } from './support/build-store.js';

jest.setTimeout(300_000);

afterAll(removeBuilds);

test('figures of the store', () => {
  const script = join(__dirname, 'support/store-bench.mjs');
  execFileSync(process.execPath, [script, buildStore()], { stdio: 'inherit' });
});
