/**
 * Makes names in a directory durable: a created or renamed file is only safe after this.
 */
import { open } from 'node:fs/promises';

export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
