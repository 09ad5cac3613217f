/**
 * Puts everything a node writes below one directory on the simulated disk: `node:fs` is redirected to a FaultyFilePort, so that store record, id
 * runs, log and identity share one page cache, one crash and one power loss. LevelDB's own directories
 * stay real, because native code writes there; their syncs are told to a listener.
 */
import * as fs from 'node:fs';
import fsp from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { readWholeFile } from '../../../src/raft/wal/file-port.js';
import type { FaultyFilePort, MemoryFile } from '../../support/faulty-file-port.js';
import { Descriptors } from './descriptors.js';

/** What happens to names and files of LevelDB's directory through Node. */
export interface RealListener {
  /** Before a file is cut: its content, until the cut is synced. */
  cutting(path: string, before: Buffer): void;
  fileSynced(path: string): void;
  directorySynced(path: string): void;
}

export interface NodeFilesOptions {
  readonly root: string;
  /** Below these directories files are real. */
  readonly real: readonly string[];
  readonly port: FaultyFilePort;
  readonly listener: RealListener;
}

type Fsp = Pick<
  typeof fsp,
  'open' | 'readFile' | 'writeFile' | 'mkdir' | 'readdir' | 'rename' | 'unlink' | 'rm' | 'stat'
>;

/** Replaces the functions; the result puts the originals back. */
export function installNodeFiles(options: NodeFilesOptions): () => void {
  const { default: callbacks } = fs as unknown as { default: Record<string, unknown> };
  const original: Fsp = { ...fsp };
  const descriptors = new Descriptors(options.port);
  const files = new NodeFiles(options, original, descriptors);
  const replacements = descriptors.replacements((path) => files.isOurs(path));
  const names = Object.keys(replacements);
  const replaced = Object.fromEntries(names.map((name) => [name, callbacks[name]]));
  Object.assign(fsp, files.replacements());
  Object.assign(callbacks, replacements);
  syncBuiltinESMExports();
  return () => {
    Object.assign(fsp, original);
    Object.assign(callbacks, replaced);
    syncBuiltinESMExports();
  };
}

class NodeFiles {
  constructor(
    private readonly options: NodeFilesOptions,
    private readonly original: Fsp,
    private readonly descriptors: Descriptors,
  ) {}

  replacements(): Record<keyof Fsp, unknown> {
    const { original } = this;
    const { port } = this.options;
    return {
      open: (path: string, flags = 'r') => this.openAny(path, flags),
      readFile: (path: string, encoding?: BufferEncoding) =>
        this.isOurs(path) ? this.readFile(path, encoding) : original.readFile(path, encoding),
      writeFile: (path: string, ...rest: [never]) => {
        if (this.isOurs(path)) throw new Error(`an un-synced writeFile of ${path}`);
        return original.writeFile(path, ...rest);
      },
      mkdir: (path: string, how?: fs.MakeDirectoryOptions) => this.mkdir(path, how),
      readdir: (path: string, how?: never) =>
        this.isOurs(path) ? this.readdir(path) : original.readdir(path, how),
      rename: (from: string, to: string) =>
        this.isOurs(from) ? port.rename(from, to) : original.rename(from, to),
      unlink: (path: string) => (this.isOurs(path) ? port.unlink(path) : original.unlink(path)),
      rm: (path: string, how?: fs.RmOptions) =>
        this.isOurs(path) ? port.unlink(path) : original.rm(path, how),
      stat: (path: string) => (this.isOurs(path) ? this.stat(path) : original.stat(path)),
    };
  }

  isOurs(path: string): boolean {
    const { root, real } = this.options;
    if (path !== root && !path.startsWith(`${root}/`)) return false;
    return !real.some((directory) => path === directory || path.startsWith(`${directory}/`));
  }

  private async openAny(path: string, flags: string): Promise<unknown> {
    const { port, listener } = this.options;
    if (!this.isOurs(path)) {
      const handle = await this.original.open(path, flags);
      if (!this.options.real.some((directory) => path.startsWith(directory))) return handle;
      return new RealHandle(path, handle, port, listener);
    }
    if (port.hasDirectory(path)) return new DirectoryHandle(path, port);
    const { fd, file } = await this.descriptors.openFile(path, flags);
    return new MemoryHandle(fd, file, () => this.descriptors.forget(fd));
  }

  private async readFile(path: string, encoding?: BufferEncoding): Promise<Buffer | string> {
    const bytes = await readWholeFile(this.options.port, path);
    if (bytes === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
    return encoding === undefined ? bytes : bytes.toString(encoding);
  }

  private async mkdir(path: string, how?: fs.MakeDirectoryOptions): Promise<unknown> {
    const { root, port } = this.options;
    if (path === root || path.startsWith(`${root}/`)) {
      // Names of real directories are known here too, so that they can be lost.
      if (!port.hasDirectory(path)) await port.mkdir(path);
    }
    return this.isOurs(path) ? undefined : this.original.mkdir(path, how);
  }

  private async readdir(path: string): Promise<string[]> {
    return this.options.port.readdir(path);
  }

  private async stat(path: string): Promise<{ size: number }> {
    const file = await this.options.port.open(path, 'read');
    return { size: await file.sizeBytes() };
  }
}

class DirectoryHandle {
  constructor(
    private readonly path: string,
    private readonly port: FaultyFilePort,
  ) {}

  sync(): Promise<void> {
    return this.port.fsyncDir(this.path);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** The part of a FileHandle that storage uses, on a simulated file. */
class MemoryHandle {
  constructor(
    readonly fd: number,
    private readonly file: MemoryFile,
    private readonly closed: () => void,
  ) {}

  async read(
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesRead: number }> {
    return { bytesRead: await this.file.pread(buffer.subarray(offset, offset + length), position) };
  }

  async write(
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesWritten: number }> {
    const piece = buffer.subarray(offset, offset + length);
    return { bytesWritten: await this.file.writev([piece], position) };
  }

  async stat(): Promise<{ size: number }> {
    return { size: await this.file.sizeBytes() };
  }

  sync(): Promise<void> {
    return this.file.fdatasync();
  }

  datasync(): Promise<void> {
    return this.file.fdatasync();
  }

  truncate(length: number): Promise<void> {
    return this.file.truncate(length);
  }

  close(): Promise<void> {
    this.closed();
    return this.file.close();
  }
}

/** A real file or directory of LevelDB, opened through Node. */
class RealHandle {
  constructor(
    private readonly path: string,
    private readonly handle: fsp.FileHandle,
    private readonly port: FaultyFilePort,
    private readonly listener: RealListener,
  ) {}

  async sync(): Promise<void> {
    const isDirectory = (await this.handle.stat()).isDirectory();
    await this.port.perform(isDirectory ? 'fsyncDir' : 'fdatasync', () => {
      if (isDirectory) this.listener.directorySynced(this.path);
      else this.listener.fileSynced(this.path);
    });
  }

  async truncate(length: number): Promise<void> {
    await this.port.perform('truncate', () => {
      this.listener.cutting(this.path, fs.readFileSync(this.path));
      fs.truncateSync(this.path, length);
    });
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
