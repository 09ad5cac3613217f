/** `queen verify`: checks a data directory or a backup offline, and changes nothing. */
import { runVerify } from './lifecycle/verify-command.js';

await runVerify(process.argv.slice(3));
