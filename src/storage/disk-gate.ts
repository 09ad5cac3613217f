/**
 * Watches how full the data filesystem is. Closed at the high mark, open again below the low mark,
 * so that it does not flap; while closed this node turns away commands that grow storage. It
 * decides nothing else: pops, acks, deletes and entries accepted elsewhere go on.
 */
import { statfs } from 'node:fs/promises';

export const DISK_HIGH_PERCENT = 85;
export const DISK_LOW_PERCENT = 80;
export const DISK_POLL_MS = 1_000;

/** What is needed of statfs, in blocks. */
export interface DiskUsage {
  blocks: number;
  bfree: number;
  bavail: number;
  /** Bytes of a block; without it the size of the filesystem is not known. */
  bsize?: number;
}

export interface DiskGateOptions {
  directory: string;
  /** Percent used that closes; outside 1..100 the default holds. */
  highPercent?: number;
  /** Percent used below which it reopens; outside 1..100 the default holds. */
  lowPercent?: number;
  pollMs?: number;
  /** Seam for tests; `node:fs` statfs when not given. */
  readUsage?: (directory: string) => Promise<DiskUsage>;
  /** The filesystem could not be asked; the gate stays as it was. */
  onError?: (error: unknown) => void;
}

export interface DiskPressure {
  isFull: boolean;
  usedPercent: number;
  /** Size of the filesystem; 0 = not known. */
  totalBytes: number;
}

export class DiskGate {
  private readonly directory: string;
  private readonly highPercent: number;
  private readonly lowPercent: number;
  private readonly pollMs: number;
  private readonly readUsage: (directory: string) => Promise<DiskUsage>;
  private readonly onError: ((error: unknown) => void) | undefined;
  private readonly listeners = new Set<(pressure: DiskPressure) => void>();
  private pressure: DiskPressure = { isFull: false, usedPercent: 0, totalBytes: 0 };
  private timer: NodeJS.Timeout | undefined;
  private polling: Promise<void> | undefined;

  constructor(options: DiskGateOptions) {
    this.directory = options.directory;
    this.highPercent = percentOr(options.highPercent, DISK_HIGH_PERCENT);
    // A low mark above the high one would open what was just closed.
    this.lowPercent = Math.min(percentOr(options.lowPercent, DISK_LOW_PERCENT), this.highPercent);
    this.pollMs = options.pollMs ?? DISK_POLL_MS;
    this.readUsage = options.readUsage ?? statfs;
    this.onError = options.onError;
  }

  /** Whether commands that grow storage are turned away (`507 storage_full`). */
  get isFull(): boolean {
    return this.pressure.isFull;
  }

  get usedPercent(): number {
    return this.pressure.usedPercent;
  }

  /** Size of the data filesystem; 0 before the first look. */
  get totalBytes(): number {
    return this.pressure.totalBytes;
  }

  /** Called at each change of `isFull`; answers the unsubscriber. */
  onChange(listener: (pressure: DiskPressure) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Looks once, then again and again until `stop`. Does not keep the process alive. */
  async start(): Promise<void> {
    await this.poll();
    this.timer ??= setInterval(() => void this.poll(), this.pollMs).unref();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.listeners.clear();
  }

  /** Looks now. One look at a time: a slow disk is not asked twice. */
  poll(): Promise<void> {
    this.polling ??= this.look().finally(() => (this.polling = undefined));
    return this.polling;
  }

  private async look(): Promise<void> {
    let usage: DiskUsage;
    try {
      usage = await this.readUsage(this.directory);
    } catch (error) {
      this.onError?.(error);
      return;
    }
    const usedPercent = usedPercentOf(usage);
    const wasFull = this.pressure.isFull;
    const isFull = wasFull ? usedPercent >= this.lowPercent : usedPercent >= this.highPercent;
    const totalBytes = usage.blocks * (usage.bsize ?? 0);
    this.pressure = { isFull, usedPercent, totalBytes };
    if (isFull === wasFull) return;
    for (const listener of [...this.listeners]) listener(this.pressure);
  }
}

/** As df counts: blocks kept for root are neither used nor free. */
function usedPercentOf({ blocks, bfree, bavail }: DiskUsage): number {
  const used = blocks - bfree;
  const total = used + bavail;
  return total <= 0 ? 0 : (used / total) * 100;
}

function percentOr(value: number | undefined, fallback: number): number {
  return value !== undefined && value >= 1 && value <= 100 ? value : fallback;
}
