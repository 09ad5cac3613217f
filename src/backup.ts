/** `queen backup`: copies the state of a running node into a directory. */
import { runBackup } from './lifecycle/backup-commands.js';

await runBackup(process.argv.slice(3));
