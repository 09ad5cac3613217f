/**
 * The callback functions of `node:fs` that work on descriptors, for simulated files: what the
 * production file port of the log and the id index call. Descriptors of real files pass through.
 */
import * as fs from 'node:fs';
import type { OpenMode } from '../../../src/raft/wal/file-port.js';
import type { FaultyFilePort, MemoryFile } from '../../support/faulty-file-port.js';

const MODES: Readonly<Record<string, OpenMode>> = {
  r: 'read',
  'r+': 'update',
  w: 'replace',
  'w+': 'replace',
  wx: 'create',
  'wx+': 'create',
};
const FIRST_FD = 1_000_000;

type Callback = (error: unknown, value?: unknown) => void;
type Arguments = readonly unknown[];
type Operation = (file: MemoryFile, rest: Arguments) => Promise<unknown>;
type AnyFunction = (...all: unknown[]) => unknown;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  read: (file, [buffer, offset, length, position]) =>
    file.pread(slice(buffer, offset, length), position as number),
  write: (file, [buffer, offset, length, position]) =>
    file.writev([slice(buffer, offset, length)], position as number),
  writev: (file, [parts, position]) => file.writev(parts as Uint8Array[], position as number),
  fdatasync: (file) => file.fdatasync(),
  fsync: (file) => file.fdatasync(),
  ftruncate: (file, [length]) => file.truncate(length as number),
  fstat: async (file) => ({ size: await file.sizeBytes() }),
};

/** All files of the simulated disk that are open. */
export class Descriptors {
  private readonly open = new Map<number, MemoryFile>();
  private nextFd = FIRST_FD;

  constructor(private readonly port: FaultyFilePort) {}

  async openFile(path: string, flags: string): Promise<{ fd: number; file: MemoryFile }> {
    const mode = MODES[flags];
    if (mode === undefined) throw new Error(`open with flags ${flags} is not simulated`);
    const file = await this.port.open(path, mode);
    const fd = this.nextFd++;
    this.open.set(fd, file);
    return { fd, file };
  }

  forget(fd: number): void {
    this.open.delete(fd);
  }

  /** Functions to put in place of those of `node:fs`. */
  replacements(isOurs: (path: string) => boolean): Record<string, AnyFunction> {
    const original = { ...fs } as unknown as Record<string, AnyFunction>;
    const replaced: Record<string, AnyFunction> = {
      open: (path, flags, ...rest) => {
        if (!isOurs(path as string)) return original['open']?.(path, flags, ...rest);
        const opened = this.openFile(path as string, flags as string).then(({ fd }) => fd);
        return settle(opened, rest.at(-1) as Callback);
      },
      close: (fd, done) => {
        if (!this.open.delete(fd as number)) return original['close']?.(fd, done);
        return settle(Promise.resolve(), done as Callback);
      },
      readSync: (fd, ...rest) => {
        const file = this.open.get(fd as number);
        const [buffer, offset, length, position] = rest;
        if (file === undefined) return original['readSync']?.(fd, ...rest);
        return file.preadSync(slice(buffer, offset, length), position as number);
      },
      writeSync: (fd, ...rest) => {
        const file = this.open.get(fd as number);
        const [buffer, offset, length, position] = rest;
        if (file === undefined) return original['writeSync']?.(fd, ...rest);
        return file.writeSync(slice(buffer, offset, length), position as number);
      },
    };
    for (const [name, operation] of Object.entries(OPERATIONS)) {
      replaced[name] = (fd, ...rest) => {
        const file = this.open.get(fd as number);
        if (file === undefined) return original[name]?.(fd, ...rest);
        return settle(operation(file, rest.slice(0, -1)), rest.at(-1) as Callback);
      };
    }
    return replaced;
  }
}

function slice(buffer: unknown, offset: unknown, length: unknown): Uint8Array {
  const from = offset as number;
  return (buffer as Uint8Array).subarray(from, from + (length as number));
}

function settle(work: Promise<unknown>, done: Callback): void {
  work.then(
    (value) => done(null, value),
    (error: unknown) => done(error),
  );
}
