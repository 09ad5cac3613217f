/** `queen restore`: fills an empty data directory from a backup. */
import { runRestore } from './lifecycle/backup-commands.js';

await runRestore(process.argv.slice(3));
