/**
 * The only way the write-ahead log touches files, so that tests can lose un-synced pages, fail syncs
 * and cut writes short. Promises: a write is readable when it resolves and durable only after a sync
 * of its file; a created, renamed or removed name is durable only after `fsyncDir` of its directory.
 * Errors are Node's system errors with a `code`.
 */
import { stretchesOf } from '../../common/blank-bytes.js';

/**
 * read: existing file, read only. update: existing file, read and write. create: must not exist yet.
 * replace: created or emptied.
 */
export type OpenMode = 'read' | 'update' | 'create' | 'replace';

export interface OpenFile {
  /** Reads into `target`; returns the bytes read, less than asked only at the end of the file. */
  pread(target: Uint8Array, position: number): Promise<number>;
  /** Writes the parts one after another; may write less than asked, returns the bytes written. */
  writev(parts: readonly Uint8Array[], position: number): Promise<number>;
  /** Small synchronous write in place (the synced mark); returns the bytes written. */
  writeSync(bytes: Uint8Array, position: number): number;
  /** Makes content and size durable. */
  fdatasync(): Promise<void>;
  truncate(sizeBytes: number): Promise<void>;
  sizeBytes(): Promise<number>;
  close(): Promise<void>;
}

export interface FilePort {
  open(path: string, mode: OpenMode): Promise<OpenFile>;
  /** Names in a directory, in no particular order. */
  readdir(directory: string): Promise<string[]>;
  mkdir(directory: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  link(existing: string, created: string): Promise<void>;
  fsyncDir(directory: string): Promise<void>;
}

/** True for "no such file or directory". */
export function isMissing(error: unknown): boolean {
  // Not instanceof: a system error may come from another realm (test runners have one).
  return (error as { readonly code?: unknown } | null)?.code === 'ENOENT';
}

/** Reads exactly `lengthBytes`, or fewer when the file ends; the result is as long as what was read. */
export async function readUpTo(
  file: OpenFile,
  position: number,
  lengthBytes: number,
): Promise<Buffer> {
  const target = Buffer.allocUnsafeSlow(lengthBytes);
  let done = 0;
  while (done < lengthBytes) {
    const got = await file.pread(done === 0 ? target : target.subarray(done), position + done);
    if (got === 0) return target.subarray(0, done);
    done += got;
  }
  return target;
}

/** Writes everything, going on after a short write. A write that makes no progress is an error. */
export async function writeFully(
  file: OpenFile,
  parts: readonly Uint8Array[],
  position: number,
): Promise<void> {
  let left = parts;
  let at = position;
  while (left.length > 0) {
    const written = await file.writev(left, at);
    if (written === 0) throw new Error(`write made no progress at byte ${at}`);
    at += written;
    left = dropBytes(left, written);
  }
}

/** Writes everything but whole pages of zeros, which become holes of a file that grows here. */
export async function writeSparse(
  file: OpenFile,
  parts: readonly Uint8Array[],
  position: number,
): Promise<void> {
  let at = position;
  let pending: Uint8Array[] = [];
  let pendingAt = at;
  const flush = async (): Promise<void> => {
    if (pending.length > 0) await writeFully(file, pending, pendingAt);
    pending = [];
  };
  for (const part of parts) {
    for (const { start, end, isBlank } of stretchesOf(part)) {
      if (isBlank) {
        await flush();
      } else {
        if (pending.length === 0) pendingAt = at;
        pending.push(part.subarray(start, end));
      }
      at += end - start;
    }
  }
  await flush();
}

function dropBytes(parts: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
  let skip = bytes;
  for (let i = 0; i < parts.length; i += 1) {
    const part = parts[i] as Uint8Array;
    if (skip < part.length) {
      return skip === 0 ? parts.slice(i) : [part.subarray(skip), ...parts.slice(i + 1)];
    }
    skip -= part.length;
  }
  return [];
}

/** Reads a whole small file, or undefined when it does not exist. */
export async function readWholeFile(port: FilePort, path: string): Promise<Buffer | undefined> {
  let file: OpenFile;
  try {
    file = await port.open(path, 'read');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  try {
    return await readUpTo(file, 0, await file.sizeBytes());
  } finally {
    await file.close();
  }
}

/** Unlinks a name; one that is gone already is no failure. */
export async function unlinkIfPresent(port: FilePort, path: string): Promise<void> {
  try {
    await port.unlink(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** Replaces a file so that after a crash the old or the new content is there, never a mix. */
export async function replaceFile(
  port: FilePort,
  directory: string,
  name: string,
  content: Uint8Array,
): Promise<void> {
  const temporary = `${directory}/${name}.tmp`;
  const file = await port.open(temporary, 'replace');
  try {
    await writeFully(file, [content], 0);
    await file.fdatasync();
  } finally {
    await file.close();
  }
  await port.rename(temporary, `${directory}/${name}`);
  await port.fsyncDir(directory);
}
