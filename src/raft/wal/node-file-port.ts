/**
 * The file port on node:fs. Plain descriptors and callbacks instead of FileHandle objects, because
 * appends and reads are hot. It adds no behaviour: no retry, no buffering, no caching.
 */
import * as fs from 'node:fs';
import * as fsp from 'node:fs/promises';
import type { FilePort, OpenFile, OpenMode } from './file-port.js';

const FLAGS: Record<OpenMode, string> = {
  read: 'r',
  update: 'r+',
  create: 'wx+',
  replace: 'w+',
};

/** Told how long each sync took, ms. */
export type SyncObserver = (what: 'file' | 'directory', tookMs: number) => void;

class NodeFile implements OpenFile {
  constructor(
    private readonly fd: number,
    private readonly synced: SyncObserver | undefined,
  ) {}

  pread(target: Uint8Array, position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.read(this.fd, target, 0, target.length, position, (error, bytes) =>
        error ? reject(error) : resolve(bytes),
      );
    });
  }

  writev(parts: readonly Uint8Array[], position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const done = (error: Error | null, bytes: number): void =>
        error ? reject(error) : resolve(bytes);
      const only = parts.length === 1 ? parts[0] : undefined;
      if (only) fs.write(this.fd, only, 0, only.length, position, done);
      else fs.writev(this.fd, parts as Uint8Array[], position, done);
    });
  }

  writeSync(bytes: Uint8Array, position: number): number {
    return fs.writeSync(this.fd, bytes, 0, bytes.length, position);
  }

  fdatasync(): Promise<void> {
    const startMs = performance.now();
    return new Promise((resolve, reject) => {
      fs.fdatasync(this.fd, (error) => {
        this.synced?.('file', performance.now() - startMs);
        if (error) reject(error);
        else resolve();
      });
    });
  }

  truncate(sizeBytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.ftruncate(this.fd, sizeBytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  sizeBytes(): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.fstat(this.fd, (error, stat) => (error ? reject(error) : resolve(stat.size)));
    });
  }

  close(): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.close(this.fd, (error) => (error ? reject(error) : resolve()));
    });
  }
}

/** The file system of this machine. */
export class NodeFilePort implements FilePort {
  constructor(private readonly synced?: SyncObserver) {}

  open(path: string, mode: OpenMode): Promise<OpenFile> {
    return new Promise((resolve, reject) => {
      fs.open(path, FLAGS[mode], 0o640, (error, fd) =>
        error ? reject(error) : resolve(new NodeFile(fd, this.synced)),
      );
    });
  }

  readdir(directory: string): Promise<string[]> {
    return fsp.readdir(directory);
  }

  async mkdir(directory: string): Promise<void> {
    await fsp.mkdir(directory, { recursive: true });
  }

  rename(from: string, to: string): Promise<void> {
    return fsp.rename(from, to);
  }

  unlink(path: string): Promise<void> {
    return fsp.unlink(path);
  }

  link(existing: string, created: string): Promise<void> {
    return fsp.link(existing, created);
  }

  async fsyncDir(directory: string): Promise<void> {
    const startMs = performance.now();
    const handle = await fsp.open(directory, 'r');
    try {
      await handle.sync();
      this.synced?.('directory', performance.now() - startMs);
    } finally {
      await handle.close();
    }
  }
}
