/** What the wiring of a group may use of the id index. */
export { IdIndex, type IdIndexOptions } from './id-index.js';
export type { IdPlace } from './id-run.js';
export { IdRunDamage } from './run-format.js';
export { verifyRuns } from './verify-runs.js';
