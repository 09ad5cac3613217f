/**
 * Frees the space of what nobody can read any more: retired segments without a live message are
 * unlinked, mostly dead ones rewritten. Node-local, in the background, in small steps; whatever it does
 * can be lost or repeated.
 *
 * Dead stays dead: starts of logs only move up, and below them nothing can be filed or read. So a
 * segment is judged first, what rows pin is looked up after that, and the file goes only when the judged
 * state is durable, so that no restart brings back a row that needs it, and the reads that began before
 * are through. A rewrite looks up more while it writes: both are waited for once more before the swap.
 * Damage it meets is damage like any other: the node stops.
 */
import type { GroupView } from '../group.js';
import { isDamage } from '../log-errors.js';
import type { ByteRange, GroupLog, KeptBytes, MachineParts } from '../ports.js';
import type { PinnedRange, RetiredLog, RetiredSegment } from '../ports.js';
import { bytesOf, EntryJudge } from './entry-judge.js';
import { FirstEntries } from './first-entries.js';
import type { ReadPins } from './read-pins.js';
import { SummaryBuilder, summaryBytes, type SegmentSummary } from './segment-summary.js';

/** Memory for summaries; the oldest are given up beyond it. */
const MAX_SUMMARY_BYTES = 64 * 1024 * 1024;
/** A segment whose summary was given up is read again after this at the earliest. */
const READ_AGAIN_MS = 600_000;
/** A rewrite that would win too little is thought of again when so much more of the segment died. */
const RETRY_SHARE = 0.1;
/** Rows that pin bytes are looked up again after this when nothing else has changed. */
const LOOK_AGAIN_MS = 60_000;
const PAGE_BYTES = 4096;
const BREATHE_MS = 2;
const SLICE = 500;
const SETTLE_MS = 5_000;

export interface CollectorOptions {
  readonly intervalMs: number;
  /** Percent of a segment that must be dead for a rewrite. */
  readonly minDeadPercent: number;
  /** After which pins that hold all that is left are looked up again. */
  readonly lookAgainMs?: number;
}

export interface CollectorParts {
  readonly machine: MachineParts;
  readonly retired: RetiredLog;
  readonly store: { readonly durableIndex: number };
  readonly pins: ReadPins;
  readonly log: GroupLog;
  readonly nowMs: () => number;
  view(): Promise<GroupView>;
  /** A segment does not hold what was written: nothing more is served. */
  damaged(error: Error): void;
}

/** What is known of one segment file. */
interface Known {
  readonly revision: number;
  readonly summary: SegmentSummary | null;
  readonly readAtMs: number;
  /** What was live, and live or pinned, when a rewrite was found to win too little. */
  vain: { readonly liveBytes: number; readonly keptBytes: number } | null;
}

interface Judged {
  readonly segment: RetiredSegment;
  readonly known: Known;
  /** First live entry per partition of the segment that has any. */
  readonly liveFrom: ReadonlyMap<number, number>;
  readonly liveBytes: number;
  /** What the file takes on the disk. */
  readonly takenBytes: number;
}

export class Collector {
  private readonly known = new Map<number, Known>();
  private readonly firsts: FirstEntries;
  /** When pins were looked up last. */
  private lookedMs = -Infinity;
  private timer: NodeJS.Timeout | null = null;
  private passing: Promise<void> | null = null;
  private stopped = false;

  constructor(
    private readonly parts: CollectorParts,
    private readonly options: CollectorOptions,
  ) {
    this.firsts = new FirstEntries(parts.machine.tables, parts.machine.appends);
  }

  start(): void {
    this.timer = setInterval(() => void this.poll(), this.options.intervalMs);
    this.timer.unref();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    await this.passing;
  }

  /** One pass, unless one is under way; resolves when it is through. */
  poll(): Promise<void> {
    this.passing ??= this.pass().then(
      () => {
        this.passing = null;
      },
      (error: unknown) => {
        this.passing = null;
        if (this.stopped) return;
        if (isDamage(error)) return this.parts.damaged(error);
        const why = String(error);
        this.parts.log.warn('log segments not collected, tried again later', { error: why });
      },
    );
    return this.passing;
  }

  private async pass(): Promise<void> {
    const { retired, log } = this.parts;
    const segments = retired.segments();
    this.forgetGone(segments);
    await this.readOne(segments);
    const candidates = await this.judge(segments);
    if (!this.isWorthALook(candidates)) return;
    const pinned = await this.pinnedBytes(candidates);
    if (!(await this.isSettled())) return;
    const keptBytes = ({ segment, liveBytes }: Judged): number =>
      liveBytes + (pinned.get(segment.sequence) ?? 0);
    const dead = candidates.filter((one) => keptBytes(one) === 0).map(({ segment }) => segment);
    if (dead.length > 0) {
      await retired.remove(dead.map(({ sequence }) => sequence));
      const bytes = dead.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      log.info('log segments removed', { segments: dead.length, bytes });
    }
    const worst = worstOf(
      candidates.filter((one) => {
        const { known, takenBytes } = one;
        if (dead.includes(one.segment)) return false;
        return known.vain === null || fell(known.vain.keptBytes, keptBytes(one), takenBytes);
      }),
    );
    if (worst !== undefined) await this.rewrite(worst, keptBytes(worst));
  }

  /** Looking up what rows pin is a walk over all of them: not for segments that were tried in vain. */
  private isWorthALook(candidates: readonly Judged[]): boolean {
    if (candidates.length === 0) return false;
    const now = this.parts.nowMs();
    const hasNews = candidates.some(
      ({ known: { vain }, liveBytes, takenBytes }) =>
        vain === null || fell(vain.liveBytes, liveBytes, takenBytes),
    );
    if (!hasNews && now - this.lookedMs < (this.options.lookAgainMs ?? LOOK_AGAIN_MS)) return false;
    this.lookedMs = now;
    return true;
  }

  private forgetGone(segments: readonly RetiredSegment[]): void {
    const present = new Map(segments.map(({ sequence, revision }) => [sequence, revision]));
    for (const [sequence, { revision }] of this.known) {
      if (present.get(sequence) !== revision) this.known.delete(sequence);
    }
  }

  /** Reads one segment that nothing is known of yet; what was rewritten comes after what never was. */
  private async readOne(segments: readonly RetiredSegment[]): Promise<void> {
    const now = this.parts.nowMs();
    const unread = segments.filter(({ sequence }) => {
      const known = this.known.get(sequence);
      if (known === undefined) return true;
      return known.summary === null && now - known.readAtMs > READ_AGAIN_MS;
    });
    const [first] = unread;
    if (first === undefined) return;
    const next = unread.reduce((best, one) => (one.revision < best.revision ? one : best), first);
    const builder = new SummaryBuilder(this.parts.machine.contents);
    await this.parts.retired.read(next.sequence, {
      visit: (index, payload) => builder.add(index, payload),
      breathe: () => this.breathe(),
    });
    const summary = builder.isTooWide ? null : builder.build();
    const { revision } = next;
    this.known.set(next.sequence, { revision, summary, readAtMs: now, vain: null });
    this.boundMemory();
  }

  private boundMemory(): void {
    let bytes = 0;
    for (const { summary } of this.known.values()) {
      bytes += summary === null ? 0 : summaryBytes(summary);
    }
    for (const [sequence, known] of this.known) {
      if (bytes <= MAX_SUMMARY_BYTES) return;
      if (known.summary === null) continue;
      bytes -= summaryBytes(known.summary);
      this.known.set(sequence, { ...known, summary: null });
    }
  }

  /** Segments of which enough is dead, were it not for what is pinned. */
  private async judge(segments: readonly RetiredSegment[]): Promise<Judged[]> {
    const view = await this.parts.view();
    const candidates: Judged[] = [];
    try {
      for (const segment of segments) {
        const known = this.known.get(segment.sequence);
        const summary = known?.summary ?? null;
        if (known === undefined || summary === null) continue;
        const judged = await this.judgeOne({ segment, known }, summary, view);
        const dead = judged.takenBytes - judged.liveBytes;
        if (judged.liveBytes === 0 || dead > this.leastWin(judged)) candidates.push(judged);
      }
    } finally {
      await view.close();
    }
    return candidates;
  }

  private async judgeOne(
    one: Pick<Judged, 'segment' | 'known'>,
    summary: SegmentSummary,
    view: GroupView,
  ): Promise<Judged> {
    const liveFrom = new Map<number, number>();
    let liveBytes = 0;
    for (const [i, id] of summary.partitions.entries()) {
      const first = await this.firsts.of(id, view);
      if (first <= (summary.newest[i] ?? 0)) {
        liveFrom.set(id, first);
        liveBytes += summary.bytes[i] ?? 0;
      }
      if (i % SLICE === SLICE - 1) await this.breathe();
    }
    const takenBytes = one.segment.sizeBytes - summary.blankBytes;
    return { ...one, liveFrom, liveBytes, takenBytes };
  }

  /** By sequence, what rows name in candidates. Read after the judgement: see above. */
  private async pinnedBytes(candidates: readonly Judged[]): Promise<ReadonlyMap<number, number>> {
    const segments = candidates.map(({ segment }) => segment);
    const first = Math.min(...segments.map((segment) => segment.first));
    const last = Math.max(...segments.map((segment) => segment.last));
    const bytes = new Map<number, number>();
    await this.eachPinned({ first, last }, ({ entryIndex, length }) => {
      const segment = segmentWith(segments, entryIndex);
      if (segment === undefined) return;
      const { sequence } = segment;
      bytes.set(sequence, (bytes.get(sequence) ?? 0) + length + PAGE_BYTES);
    });
    return bytes;
  }

  /** What rows name in one segment. */
  private async pinnedRanges(segment: RetiredSegment): Promise<Map<number, ByteRange[]>> {
    const ranges = new Map<number, ByteRange[]>();
    await this.eachPinned(segment, ({ entryIndex, start, length }) => {
      const known = ranges.get(entryIndex);
      if (known === undefined) ranges.set(entryIndex, [{ start, length }]);
      else known.push({ start, length });
    });
    return ranges;
  }

  private async eachPinned(
    { first, last }: Pick<RetiredSegment, 'first' | 'last'>,
    visit: (range: PinnedRange) => void,
  ): Promise<void> {
    const view = await this.parts.view();
    let seen = 0;
    try {
      for await (const range of this.parts.machine.contents.pinned(view, first, last)) {
        if (range.entryIndex >= first && range.entryIndex <= last) visit(range);
        seen += 1;
        if (seen % SLICE === 0) await this.breathe();
      }
    } finally {
      await view.close();
    }
  }

  /** False when the judged state does not become durable: then a later pass judges anew. */
  private async isSettled(): Promise<boolean> {
    const { machine, store, pins, nowMs } = this.parts;
    const judgedAt = machine.machine.appliedIndex;
    const untilMs = nowMs() + SETTLE_MS;
    while (store.durableIndex < judgedAt) {
      if (nowMs() > untilMs) return false;
      await this.breathe();
    }
    await pins.settled();
    return true;
  }

  private async rewrite(judged: Judged, estimatedBytes: number): Promise<void> {
    const { segment, known, liveFrom, liveBytes, takenBytes } = judged;
    const { retired, log, machine } = this.parts;
    const { sequence } = segment;
    const judge = new EntryJudge(machine.contents, liveFrom, await this.pinnedRanges(segment));
    const breathe = (): Promise<void> => this.breathe();
    const keep = (index: number, payload: Uint8Array): KeptBytes => judge.kept(index, payload);
    let keptBytes = 0;
    const visit = (index: number, payload: Uint8Array): void => {
      keptBytes += takenBy(keep(index, payload), payload);
    };
    await retired.read(sequence, { visit, breathe });
    if (takenBytes - keptBytes < this.leastWin(judged)) {
      known.vain = { liveBytes, keptBytes: estimatedBytes };
      return;
    }
    let isSettled = false;
    const settled = async (): Promise<boolean> => (isSettled = await this.isSettled());
    await retired.rewrite(sequence, { keep, settled, breathe });
    if (!isSettled) return;
    log.info('log segment rewritten', { segment: sequence, bytes: takenBytes - keptBytes });
  }

  /**
   * What a rewrite must win. A file has a frame of its own, which is most of one with little left: without
   * the page such a segment would be written anew for ever, and none behind it ever be read.
   */
  private leastWin({ takenBytes }: Pick<Judged, 'takenBytes'>): number {
    return Math.max((takenBytes * this.options.minDeadPercent) / 100, PAGE_BYTES);
  }

  private async breathe(): Promise<void> {
    await new Promise((resolve) => {
      setTimeout(resolve, BREATHE_MS);
    });
    if (this.stopped) throw new Error('the collector stops');
  }
}

/** Enough less than before to think again. */
function fell(before: number, now: number, takenBytes: number): boolean {
  return now < before && (now <= before / 2 || now < before - takenBytes * RETRY_SHARE);
}

/** Of segments in the order of the log. */
function segmentWith(
  segments: readonly RetiredSegment[],
  index: number,
): RetiredSegment | undefined {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((segments[middle] as RetiredSegment).last < index) low = middle + 1;
    else high = middle;
  }
  const found = segments[low];
  return found !== undefined && found.first <= index ? found : undefined;
}

/** Bytes of an entry that a rewrite would write: kept ranges take whole pages. */
function takenBy(kept: KeptBytes, payload: Uint8Array): number {
  if (kept === true) return payload.length;
  if (kept === false) return 0;
  return Math.min(payload.length, bytesOf(kept) + kept.length * PAGE_BYTES);
}

/** The one with the most dead bytes. */
function worstOf(candidates: readonly Judged[]): Judged | undefined {
  let worst: Judged | undefined;
  let most = 0;
  for (const one of candidates) {
    const dead = one.takenBytes - one.liveBytes;
    if (dead > most) [worst, most] = [one, dead];
  }
  return worst;
}
