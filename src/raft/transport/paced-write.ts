/**
 * Writes no faster than the other end takes. Nothing is left at the connection by a write: a snapshot
 * has one for every 64 KiB, and what each left would be kept until its last byte is sent.
 */
import type { Writable } from 'node:stream';

/** Resolves when there is room for more; throws when the connection is gone. */
export async function writePaced(connection: Writable, bytes: Uint8Array): Promise<void> {
  if (connection.destroyed) throw new Error('the connection is gone');
  if (!connection.write(bytes)) await roomOrEnd(connection);
}

function roomOrEnd(connection: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      connection.off('drain', done).off('close', done);
      resolve();
    };
    connection.once('drain', done).once('close', done);
  });
}
