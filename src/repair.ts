/** `queen repair`: rebuilds damaged segments of a stopped node from its peers. */
import { runRepair } from './lifecycle/repair-command.js';

await runRepair();
