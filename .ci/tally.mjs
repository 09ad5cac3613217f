/**
 * Adds up Jest's reports and prints "passed failed". A report that is missing counts as nothing: the
 * step that should have written it has failed and is counted itself. Suites that could not run at all
 * count as failures.
 */
import { existsSync, readFileSync } from 'node:fs';

let passed = 0;
let failed = 0;
for (const file of process.argv.slice(2)) {
  if (!existsSync(file)) continue;
  const report = JSON.parse(readFileSync(file, 'utf8'));
  passed += report.numPassedTests;
  failed += report.numFailedTests + report.numRuntimeErrorTestSuites;
}
console.log(`${passed} ${failed}`);
