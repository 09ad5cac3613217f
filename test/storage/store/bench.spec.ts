/** Measurements, on request: `QUEEN_STORE_BENCH=1 npx jest test/storage/store/bench`. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { buildStore } from './support/build-store.js';

jest.setTimeout(300_000);

const wanted = process.env['QUEEN_STORE_BENCH'] === '1';

(wanted ? test : test.skip)('figures of the store', () => {
  const script = join(__dirname, 'support/store-bench.mjs');
  execFileSync(process.execPath, [script, buildStore()], { stdio: 'inherit' });
});
