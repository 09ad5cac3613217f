/**
 * What both kinds of groups have in common when they are opened: the lock of the directory is taken first
 * and given back last, and when anything fails what was opened is closed again.
 */
import { makeDirectory } from '../storage/index.js';
import { lockDirectory } from './directory-lock.js';
import { handOver, startCare, unwind } from './group-files.js';
import type { GroupFiles, GroupFilesOptions, Undo } from './group-files.js';
import type { Group } from './group/group.js';
import { checkEncryptionKey } from './payload-cipher.js';

export async function underLock<T>(
  options: GroupFilesOptions,
  open: (undo: Undo) => Promise<T>,
): Promise<T> {
  const { directory } = options;
  await makeDirectory(directory);
  const lock = await lockDirectory(directory);
  const undo: Undo = [() => lock.release()];
  try {
    await options.locked?.();
    return await open(undo);
  } catch (error) {
    await unwind(undo, options.log);
    throw error;
  }
}

interface Serving extends Pick<Group, 'tables' | 'cipher'> {
  damaged(error: Error): void;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** The group takes over its files, loads and serves; then the files are looked after. */
export async function serveGroup(
  group: Serving,
  opened: { readonly options: GroupFilesOptions; readonly files: GroupFiles; readonly undo: Undo },
): Promise<void> {
  const { options, files, undo } = opened;
  files.damaged.report = (error) => group.damaged(error);
  handOver(undo, files, () => group.stop());
  await group.start();
  checkEncryptionKey(group.tables.encryption.check, group.cipher);
  startCare(options, files, undo);
}
