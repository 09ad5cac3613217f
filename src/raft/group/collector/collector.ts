/**
 * Frees the space of what nobody can read any more: retired segments without a live message are
 * unlinked, mostly dead ones rewritten. Node-local, in the background, in small steps; whatever it does
 * can be lost or repeated.
 *
 * Dead stays dead: starts of logs only move up, and below them nothing can be filed or read. So a
 * segment is judged first, what rows pin is looked up after that, and the file goes only when
 * (1) the judged state is durable, so that no restart brings back a row that needs the file, and
 * (2) the reads that began before are through.
 */
import type { GroupView } from '../group.js';
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
/** A rewrite that would win too little is thought of again when so much more of it died. */
const RETRY_SHARE = 0.1;
const PAGE_BYTES = 4096;
const BREATHE_MS = 2;
const SLICE = 500;
const SETTLE_MS = 5_000;

export interface CollectorOptions {
  readonly intervalMs: number;
  /** Percent of a segment that must be dead for a rewrite. */
  readonly minDeadPercent: number;
}

export interface CollectorParts {
  readonly machine: MachineParts;
  readonly retired: RetiredLog;
  readonly store: { readonly durableIndex: number };
  readonly pins: ReadPins;
  readonly log: GroupLog;
  readonly nowMs: () => number;
  view(): Promise<GroupView>;
}

/** What is known of one segment file. */
interface Known {
  readonly revision: number;
  readonly summary: SegmentSummary | null;
  readonly readAtMs: number;
  /** Dead bytes below which a rewrite was found to win too little. */
  vainDeadBytes: number;
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
    if (candidates.length === 0) return;
    const pinned = await this.pinnedEntries(candidates);
    if (!(await this.isSettled())) return;
    const dead = candidates
      .filter(({ segment, liveBytes }) => liveBytes === 0 && !holdsAny(segment, pinned))
      .map(({ segment }) => segment);
    if (dead.length > 0) {
      await retired.remove(dead.map(({ sequence }) => sequence));
      const bytes = dead.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      log.info('log segments removed', { segments: dead.length, bytes });
    }
    const worst = worstOf(candidates.filter(({ segment }) => !dead.includes(segment)));
    if (worst !== undefined) await this.rewrite(worst);
  }

  private forgetGone(segments: readonly RetiredSegment[]): void {
    const present = new Map(segments.map(({ sequence, revision }) => [sequence, revision]));
    for (const [sequence, { revision }] of this.known) {
      if (present.get(sequence) !== revision) this.known.delete(sequence);
    }
  }

  /** Reads one segment that nothing is known of yet. */
  private async readOne(segments: readonly RetiredSegment[]): Promise<void> {
    const now = this.parts.nowMs();
    const next = segments.find(({ sequence }) => {
      const known = this.known.get(sequence);
      if (known === undefined) return true;
      return known.summary === null && now - known.readAtMs > READ_AGAIN_MS;
    });
    if (next === undefined) return;
    const builder = new SummaryBuilder(this.parts.machine.contents);
    await this.parts.retired.read(next.sequence, {
      visit: (index, payload) => builder.add(index, payload),
      breathe: () => this.breathe(),
    });
    const summary = builder.isTooWide ? null : builder.build();
    const { revision } = next;
    this.known.set(next.sequence, { revision, summary, readAtMs: now, vainDeadBytes: 0 });
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
        const deadBytes = judged.takenBytes - judged.liveBytes;
        const share = (judged.takenBytes * this.options.minDeadPercent) / 100;
        if (deadBytes > Math.max(share, known.vainDeadBytes)) candidates.push(judged);
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

  /** Of the candidates' entries, those that rows name. Read after the judgement: see above. */
  private async pinnedEntries(candidates: readonly Judged[]): Promise<ReadonlySet<number>> {
    const first = Math.min(...candidates.map(({ segment }) => segment.first));
    const last = Math.max(...candidates.map(({ segment }) => segment.last));
    const entries = new Set<number>();
    await this.eachPinned({ first, last }, ({ entryIndex }) => entries.add(entryIndex));
    return entries;
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

  private async rewrite(judged: Judged): Promise<void> {
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
    if (takenBytes - keptBytes < (takenBytes * this.options.minDeadPercent) / 100) {
      known.vainDeadBytes = takenBytes - liveBytes + takenBytes * RETRY_SHARE;
      return;
    }
    await retired.rewrite(sequence, { keep, breathe });
    log.info('log segment rewritten', { segment: sequence, bytes: takenBytes - keptBytes });
  }

  private async breathe(): Promise<void> {
    await new Promise((resolve) => {
      setTimeout(resolve, BREATHE_MS);
    });
    if (this.stopped) throw new Error('the collector stops');
  }
}

function holdsAny(segment: RetiredSegment, entries: ReadonlySet<number>): boolean {
  for (const entry of entries) if (entry >= segment.first && entry <= segment.last) return true;
  return false;
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
