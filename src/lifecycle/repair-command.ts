/**
 * The command `queen repair`, for the directory and the members that the environment names. One line per
 * repaired segment and one at the end; ends with 0 when every record is sound, else with 1.
 */
import { loadConfig } from '../config/index.js';
import { createLogger } from '../logging/index.js';
import { repairConfigured } from '../raft/index.js';

export async function runRepair(): Promise<void> {
  try {
    const { config } = loadConfig(process.env);
    const { filter, json } = config.logging;
    const log = createLogger({ filter, json }).child('rsm');
    const { segments, repaired } = await repairConfigured(config, log);
    for (const { file, damage, fetched } of repaired) {
      const { byteOffset, reason } = damage;
      const what = `${reason} (at byte ${byteOffset} of ${damage.file})`;
      process.stdout.write(`repaired ${what}: now ${file}, ${fetched} entries from a member\n`);
    }
    process.stdout.write(`${segments} sealed segments examined, ${repaired.length} repaired\n`);
    process.exitCode = 0;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    process.stderr.write(`queen repair: ${text}\n`);
    process.exitCode = 1;
  }
}
