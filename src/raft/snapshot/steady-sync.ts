/**
 * Files written in bulk beside a log that syncs every few milliseconds: synced again and again while they
 * grow. One late sync of all their bytes holds up the syncs of the log for as long as the disk needs
 * (ext4 writes new blocks of every file out with the next commit of its journal), and a sync for each of
 * many small files makes a commit for each.
 */
import type { FileHandle } from 'node:fs/promises';

export const SYNC_EVERY_BYTES = 4 * 1024 * 1024;

type Syncable = Pick<FileHandle, 'datasync' | 'close'>;

export class SteadySync {
  private readonly unsynced = new Set<Syncable>();
  private readonly whole = new Set<Syncable>();
  private bytes = 0;

  /** So much was written to the file; it may be durable when it resolves. */
  async wrote(file: Syncable, bytes: number): Promise<void> {
    this.unsynced.add(file);
    this.bytes += bytes;
    if (this.bytes >= SYNC_EVERY_BYTES) await this.sync();
  }

  /** The file is closed with the next sync, or by `close`. */
  end(file: Syncable): void {
    this.unsynced.add(file);
    this.whole.add(file);
  }

  /** Everything written is durable when it resolves. */
  async sync(): Promise<void> {
    for (const file of this.unsynced) await file.datasync();
    this.unsynced.clear();
    this.bytes = 0;
    await this.close();
  }

  /** Closes the files that ended, synced or not. */
  async close(): Promise<void> {
    for (const file of this.whole) {
      this.whole.delete(file);
      await file.close();
    }
  }
}
