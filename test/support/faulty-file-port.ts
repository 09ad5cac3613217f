/**
 * A file system in memory that loses what was never synced. It keeps two versions of everything:
 * what processes see (the page cache) and what is on the disk. `powerLoss` keeps any random subset
 * of un-synced 4 KiB pages, sizes and directory entries; `kill` keeps all of it, still un-synced.
 * Deterministic: the same random function and the same calls give the same losses.
 */
import type { FilePort, OpenFile, OpenMode } from '../../src/raft/wal/file-port.js';

export const PAGE_BYTES = 4096;

export type FaultOperation =
  'writev' | 'writeSync' | 'fdatasync' | 'truncate' | 'rename' | 'unlink' | 'fsyncDir' | 'open';

/** Every operation of a process that died. */
export class SimulatedCrash extends Error {
  constructor() {
    super('the simulated process is dead');
    this.name = 'SimulatedCrash';
  }
}

/** Growable bytes; everything beyond the size is zero. */
class Bytes {
  private held = Buffer.alloc(0);
  size = 0;

  view(from = 0, to = this.size): Buffer {
    return this.held.subarray(from, Math.min(to, this.size));
  }

  set(bytes: Uint8Array, position: number): void {
    this.held.set(bytes, position);
  }

  resize(sizeBytes: number): void {
    if (sizeBytes < this.size) this.held.fill(0, sizeBytes, this.size);
    if (sizeBytes > this.held.length) {
      const grown = Buffer.alloc(Math.max(sizeBytes, this.held.length * 2));
      grown.set(this.held);
      this.held = grown;
    }
    this.size = sizeBytes;
  }
}

class Inode {
  readonly cached = new Bytes();
  readonly onDisk = new Bytes();
  /** Pages that a sync would still write. A failed sync marks pages clean that never got there. */
  private readonly dirty = new Set<number>();

  write(bytes: Uint8Array, position: number): void {
    const from = Math.min(position, this.cached.size);
    this.cached.resize(Math.max(this.cached.size, position + bytes.length));
    this.cached.set(bytes, position);
    this.markDirty(from, position + bytes.length);
  }

  truncate(sizeBytes: number): void {
    const before = this.cached.size;
    this.cached.resize(sizeBytes);
    this.markDirty(Math.min(sizeBytes, before), Math.max(sizeBytes, before));
  }

  sync(): void {
    this.settle(this.cached.size, () => true);
  }

  /** EIO: some pages got there, and all of them are called clean. */
  failSync(random: () => number): void {
    this.settle(this.cached.size, () => random() < 0.5);
  }

  losePower(random: () => number): void {
    const { cached, onDisk } = this;
    const choice = random();
    const between = onDisk.size + Math.floor(random() * (cached.size - onDisk.size + 1));
    const size = choice < 0.4 ? onDisk.size : choice < 0.8 ? cached.size : between;
    this.settle(size, () => random() < 0.5);
    cached.resize(0);
    cached.resize(onDisk.size);
    cached.set(onDisk.view(), 0);
  }

  private settle(sizeBytes: number, keeps: () => boolean): void {
    this.onDisk.resize(sizeBytes);
    for (const page of this.dirty) {
      const start = page * PAGE_BYTES;
      const end = Math.min(start + PAGE_BYTES, sizeBytes);
      if (start < end && keeps()) this.onDisk.set(this.cached.view(start, end), start);
    }
    this.dirty.clear();
  }

  private markDirty(from: number, to: number): void {
    for (let page = Math.floor(from / PAGE_BYTES); page * PAGE_BYTES < to; page += 1) {
      this.dirty.add(page);
    }
  }
}

export class FaultyFilePort implements FilePort {
  private names = new Map<string, Inode>();
  private namesOnDisk = new Map<string, Inode>();
  private directories = new Set<string>(['/']);
  private directoriesOnDisk = new Set<string>(['/']);
  private incarnation = 0;
  private dead = false;
  private untilCrash = Number.POSITIVE_INFINITY;
  private crashKind: { operation: FaultOperation; countdown: number } | undefined;
  private faults: { operation: FaultOperation; countdown: number; code: string }[] = [];
  /** Part of the writes that are cut short. */
  shortWriteRate = 0;
  /** Bytes that may still be written before ENOSPC. */
  spaceBytes = Number.POSITIVE_INFINITY;
  /** Changing operations done so far. */
  operations = 0;
  /** Awaited before each sync, so that syncs take their time. */
  slowness: (() => Promise<void>) | undefined;
  /** Called at the instant of the crash, after the operation under way was done or not done. */
  onCrash: (() => void) | undefined;

  /** Called when a file is created or emptied. */
  onCreate: ((path: string) => void) | undefined;

  constructor(private readonly random: () => number) {}

  /** The process dies in the middle of its n-th changing operation from now. */
  crashAfter(operations: number): void {
    this.untilCrash = operations;
  }

  /** The process dies in the middle of its n-th operation of one kind from now. */
  crashOn(operation: FaultOperation, countdown: number): void {
    this.crashKind = { operation, countdown };
  }

  get crashed(): boolean {
    return this.dead;
  }

  /** The process dies now, between two operations. */
  die(): void {
    if (this.dead) return;
    this.dead = true;
    this.onCrash?.();
  }

  hasDirectory(path: string): boolean {
    return this.directories.has(path);
  }

  has(path: string): boolean {
    return this.names.has(path);
  }

  /** The n-th operation of this kind from now (1 = the next) fails once with a system error. */
  failAfter(operation: FaultOperation, countdown: number, code: 'EIO' | 'ENOSPC'): void {
    this.faults.push({ operation, countdown, code });
  }

  /** The process is gone, the machine stays up. Open files of the old process are dead. */
  kill(): void {
    this.incarnation += 1;
    this.dead = false;
    this.untilCrash = Number.POSITIVE_INFINITY;
    this.crashKind = undefined;
    this.faults = [];
  }

  /** The machine loses power: what was not synced is kept or lost, piece by piece. */
  powerLoss(): void {
    this.kill();
    this.loseNames();
    const inodes = new Set([...this.names.values(), ...this.namesOnDisk.values()]);
    for (const inode of inodes) inode.losePower(this.random);
    this.namesOnDisk = new Map(this.names);
  }

  /** Whole file as processes see it, for tests. */
  peek(path: string): Buffer {
    return Buffer.from(this.inode(path).cached.view());
  }

  /** Puts a file in place, durable at once; undefined removes it. For tests only. */
  plant(path: string, content: Buffer | undefined): void {
    const inode = new Inode();
    if (content) inode.write(content, 0);
    inode.sync();
    for (const names of [this.names, this.namesOnDisk]) {
      if (content) names.set(path, inode);
      else names.delete(path);
    }
  }

  paths(): string[] {
    return [...this.names.keys()].sort();
  }

  /** An independent copy of what processes see, all of it durable. */
  clone(random: () => number): FaultyFilePort {
    const copy = new FaultyFilePort(random);
    for (const directory of this.directories) {
      copy.directories.add(directory);
      copy.directoriesOnDisk.add(directory);
    }
    for (const [path, inode] of this.names) copy.plant(path, inode.cached.view());
    return copy;
  }

  open(path: string, mode: OpenMode): Promise<MemoryFile> {
    const changes = mode === 'create' || mode === 'replace';
    return this.perform(changes ? 'open' : undefined, () => this.openNow(path, mode));
  }

  readdir(directory: string): Promise<string[]> {
    return this.perform(undefined, () => {
      this.needDirectory(directory);
      return [...this.names.keys()].filter((p) => parent(p) === directory).map(baseName);
    });
  }

  mkdir(directory: string): Promise<void> {
    return this.perform(undefined, () => {
      this.directories.add(directory);
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.perform('rename', () => {
      const inode = this.inode(from);
      this.names.delete(from);
      this.names.set(to, inode);
    });
  }

  unlink(path: string): Promise<void> {
    return this.perform('unlink', () => {
      this.inode(path);
      this.names.delete(path);
    });
  }

  link(existing: string, created: string): Promise<void> {
    return this.perform('open', () => {
      this.names.set(created, this.inode(existing));
    });
  }

  fsyncDir(directory: string): Promise<void> {
    return this.perform('fsyncDir', () => this.syncNames(directory));
  }

  /**
   * Every operation passes here: dead processes do nothing, faults strike, and the operation of the
   * crash is done or not done by chance, without its promise of durability.
   */
  async perform<T>(operation: FaultOperation | undefined, action: () => T): Promise<T> {
    const mine = this.incarnation;
    await Promise.resolve();
    return this.performSync(operation, mine, action);
  }

  performSync<T>(operation: FaultOperation | undefined, mine: number, action: () => T): T {
    if (this.dead || mine !== this.incarnation) throw new SimulatedCrash();
    if (!operation) return action();
    this.operations += 1;
    if (this.crashesNow(operation)) {
      this.dead = true;
      const syncs = operation === 'fdatasync' || operation === 'fsyncDir';
      if (!syncs && this.random() < 0.5) action();
      this.onCrash?.();
      throw new SimulatedCrash();
    }
    this.strike(operation);
    return action();
  }

  private crashesNow(operation: FaultOperation): boolean {
    this.untilCrash -= 1;
    if (this.crashKind?.operation === operation) {
      this.crashKind.countdown -= 1;
      if (this.crashKind.countdown <= 0) return true;
    }
    return this.untilCrash <= 0;
  }

  get currentIncarnation(): number {
    return this.incarnation;
  }

  /** How much of a write of `length` bytes goes through. */
  admitBytes(length: number): number {
    let admitted = length;
    if (length > 1 && this.random() < this.shortWriteRate) {
      admitted = 1 + Math.floor(this.random() * (length - 1));
    }
    admitted = Math.min(admitted, this.spaceBytes);
    if (admitted === 0 && length > 0) throw systemError('ENOSPC');
    this.spaceBytes -= admitted;
    return admitted;
  }

  failsSync(error: unknown, inode: Inode): void {
    if ((error as { code?: unknown }).code === 'EIO') inode.failSync(this.random);
  }

  private strike(operation: FaultOperation): void {
    const due = this.faults.find((fault) => fault.operation === operation);
    if (!due) return;
    due.countdown -= 1;
    if (due.countdown > 0) return;
    this.faults = this.faults.filter((fault) => fault !== due);
    throw systemError(due.code);
  }

  private openNow(path: string, mode: OpenMode): MemoryFile {
    this.needDirectory(parent(path));
    let inode = this.names.get(path);
    if (mode === 'create' && inode) throw systemError('EEXIST');
    if (mode === 'create' || mode === 'replace') {
      if (inode) inode.truncate(0);
      inode ??= new Inode();
      this.names.set(path, inode);
      this.onCreate?.(path);
    }
    if (!inode) throw systemError('ENOENT');
    return new MemoryFile(this, inode);
  }

  private syncNames(directory: string): void {
    this.needDirectory(directory);
    for (const path of new Set([...this.names.keys(), ...this.namesOnDisk.keys()])) {
      if (parent(path) === directory) copyName(path, this.names, this.namesOnDisk);
    }
    for (const path of this.directories) {
      if (parent(path) === directory) this.directoriesOnDisk.add(path);
    }
  }

  private loseNames(): void {
    for (const path of new Set([...this.names.keys(), ...this.namesOnDisk.keys()])) {
      if (this.names.get(path) === this.namesOnDisk.get(path)) continue;
      if (this.random() < 0.5) copyName(path, this.namesOnDisk, this.names);
    }
    for (const directory of [...this.directories]) {
      if (this.directoriesOnDisk.has(directory) || this.random() < 0.5) continue;
      this.directories.delete(directory);
      for (const path of [...this.names.keys()]) {
        if (path.startsWith(`${directory}/`)) this.names.delete(path);
      }
    }
    this.directoriesOnDisk = new Set(this.directories);
  }

  private needDirectory(directory: string): void {
    if (!this.directories.has(directory)) throw systemError('ENOENT');
  }

  private inode(path: string): Inode {
    const inode = this.names.get(path);
    if (!inode) throw systemError('ENOENT');
    return inode;
  }
}

export class MemoryFile implements OpenFile {
  private readonly mine: number;

  constructor(
    private readonly port: FaultyFilePort,
    private readonly inode: Inode,
  ) {
    this.mine = port.currentIncarnation;
  }

  pread(target: Uint8Array, position: number): Promise<number> {
    return this.perform(undefined, () => {
      const bytes = this.inode.cached.view(position, position + target.length);
      target.set(bytes);
      return bytes.length;
    });
  }

  preadSync(target: Uint8Array, position: number): number {
    return this.port.performSync(undefined, this.mine, () => {
      const bytes = this.inode.cached.view(position, position + target.length);
      target.set(bytes);
      return bytes.length;
    });
  }

  writev(parts: readonly Uint8Array[], position: number): Promise<number> {
    const bytes = Buffer.concat(parts);
    return this.perform('writev', () => {
      const admitted = this.port.admitBytes(bytes.length);
      this.inode.write(bytes.subarray(0, admitted), position);
      return admitted;
    });
  }

  writeSync(bytes: Uint8Array, position: number): number {
    const copy = Buffer.from(bytes);
    return this.port.performSync('writeSync', this.mine, () => {
      this.inode.write(copy, position);
      return copy.length;
    });
  }

  async fdatasync(): Promise<void> {
    if (this.port.slowness !== undefined) await this.port.slowness();
    try {
      await this.perform('fdatasync', () => this.inode.sync());
    } catch (error) {
      this.port.failsSync(error, this.inode);
      throw error;
    }
  }

  truncate(sizeBytes: number): Promise<void> {
    return this.perform('truncate', () => this.inode.truncate(sizeBytes));
  }

  sizeBytes(): Promise<number> {
    return this.perform(undefined, () => this.inode.cached.size);
  }

  async close(): Promise<void> {
    await Promise.resolve();
  }

  private async perform<T>(operation: FaultOperation | undefined, action: () => T): Promise<T> {
    await Promise.resolve();
    return this.port.performSync(operation, this.mine, action);
  }
}

function copyName(path: string, from: Map<string, Inode>, to: Map<string, Inode>): void {
  const inode = from.get(path);
  if (inode) to.set(path, inode);
  else to.delete(path);
}

function parent(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: simulated`), { code });
}
