/**
 * What this node's clients did, by queue, since the last turn: plain counters that the requests raise
 * and the collector of minute rows takes away. Queues without any traffic and nobody parked are
 * forgotten at a turn; beyond MAX_QUEUES further queues share one entry that nobody reads.
 */
const MAX_QUEUES = 10_000;
const MINUTE_MS = 60_000;

/** Sums of one bucket, but `lagMaxMs`. */
export class QueueCounts {
  pushRequests = 0;
  pushMessages = 0;
  popMessages = 0;
  popEmpty = 0;
  ackRequests = 0;
  ackSuccess = 0;
  ackFailed = 0;
  transactions = 0;
  /** Messages that last-value delivery passed over. */
  conflated = 0;
  /** Pop lag: delivery minus creation, per message. */
  lagSumMs = 0;
  lagMaxMs = 0;
  lagCount = 0;
  /** Time that pops spent parked, of all of them together. */
  parkedMs = 0;
}

export class QueueEntry {
  counts = new QueueCounts();
  /** Pops that wait now. */
  parkedNow = 0;

  constructor(
    readonly tenant: Uint8Array,
    readonly queue: string,
  ) {}

  delivered(messages: number, lag: { readonly sumMs: number; readonly maxMs: number }): void {
    const { counts } = this;
    counts.popMessages += messages;
    counts.lagCount += messages;
    counts.lagSumMs += lag.sumMs;
    counts.lagMaxMs = Math.max(counts.lagMaxMs, lag.maxMs);
  }
}

export interface TurnedEntry {
  readonly entry: QueueEntry;
  readonly counts: QueueCounts;
}

export class QueueTraffic {
  private readonly entries = new Map<string, QueueEntry>();
  private readonly tenantTexts = new WeakMap<Uint8Array, string>();
  private readonly overflow = new QueueEntry(new Uint8Array(16), '');
  private turned: readonly TurnedEntry[] = [];
  /** When the newest turn was, and how long its bucket had been open, ms; 0 before the first. */
  private turnedAtMs = 0;
  private turnedWidthMs = 0;

  /** The counters of a queue; keep them for one request only. */
  of(tenant: Uint8Array, queue: string): QueueEntry {
    const key = this.tenantText(tenant) + queue;
    const known = this.entries.get(key);
    if (known !== undefined) return known;
    if (this.entries.size >= MAX_QUEUES) return this.overflow;
    const entry = new QueueEntry(tenant, queue);
    this.entries.set(key, entry);
    return entry;
  }

  /** Adds the time since the last sample to every queue somebody waits at. */
  sampleParked(elapsedMs: number): void {
    for (const { counts, parkedNow } of this.entries.values()) {
      counts.parkedMs += parkedNow * elapsedMs;
    }
  }

  /** Pops that wait now, of all queues. */
  get parkedNow(): number {
    let parked = this.overflow.parkedNow;
    for (const entry of this.entries.values()) parked += entry.parkedNow;
    return parked;
  }

  /** Takes the counters of every queue with traffic and begins anew. */
  turn(nowMs = 0, widthMs = MINUTE_MS): TurnedEntry[] {
    this.turnedAtMs = nowMs;
    this.turnedWidthMs = widthMs;
    const turned: TurnedEntry[] = [];
    for (const [key, entry] of this.entries) {
      const { counts } = entry;
      if (isIdle(counts)) {
        if (entry.parkedNow === 0) this.entries.delete(key);
        continue;
      }
      entry.counts = new QueueCounts();
      turned.push({ entry, counts });
    }
    this.turned = turned;
    return turned;
  }

  /** What the newest turn took away: the last full bucket. */
  get lastTurn(): readonly TurnedEntry[] {
    return this.turned;
  }

  /** Age and width of the newest bucket; null before the first. */
  bucket(nowMs: number): { readonly ageMs: number; readonly widthMs: number } | null {
    if (this.turnedWidthMs === 0) return null;
    return { ageMs: Math.max(nowMs - this.turnedAtMs, 0), widthMs: this.turnedWidthMs };
  }

  /** Every queue somebody waits at now. */
  parkedEntries(): QueueEntry[] {
    return [...this.entries.values()].filter(({ parkedNow }) => parkedNow > 0);
  }

  private tenantText(tenant: Uint8Array): string {
    let text = this.tenantTexts.get(tenant);
    if (text === undefined) {
      text = Buffer.from(tenant.buffer, tenant.byteOffset, tenant.byteLength).toString('latin1');
      this.tenantTexts.set(tenant, text);
    }
    return text;
  }
}

function isIdle(counts: QueueCounts): boolean {
  for (const value of Object.values(counts)) if (value !== 0) return false;
  return true;
}
