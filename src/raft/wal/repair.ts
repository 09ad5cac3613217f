/**
 * Rebuilds damaged sealed and retired segments of a log that is not open: what still verifies is kept,
 * the rest comes from a member that holds the same log. The next revision of the file is written and
 * synced beside the damaged one, verified, and counts once the manifest names it; a kill at any step
 * leaves the old state or the new one. It decides nothing on doubt: then it refuses and changes nothing.
 *
 *   examine ─► damaged ─► own entries + a member's ─► <sequence>-r<revision+1>.seg ─► manifest ─► unlink
 *
 * A member may have let go of entries whose messages are dead, or of parts of them. Both may be so in a
 * retired segment; a sealed one then becomes retired with all before it, if this node's checkpoint covers
 * it: what is replayed here or sent to others is whole.
 */
import { logIndex, term } from '../../common/ids.js';
import { examineSegment, Salvage, wantedIndexes } from './examine.js';
import type { Examined, LogPlace } from './examine.js';
import { REPLACE_NODE_CURE, WalDamageError } from './errors.js';
import { isMissing, unlinkIfPresent } from './file-port.js';
import { checkSameDirectory } from './identity.js';
import { MANIFEST_FILE, readManifest, segmentFileName, writeManifest } from './manifest.js';
import type { Manifest, SegmentRow } from './manifest.js';
import { writeRevisionFile, type Revision } from './revision-writer.js';
import { verifySegmentFile } from './scrub.js';
import { readSegmentHeader, segmentSalt, type SegmentHeader } from './segment-header.js';
import type { StoredEntry, WalLog } from './types.js';
import { missingManifest } from './wal-creation.js';

/** One committed entry of a member; null payload: the member let go of it, nothing live is in it. */
export interface SharedEntry extends Pick<StoredEntry, 'term' | 'kind'> {
  readonly index: number;
  readonly payload: Buffer | null;
}

/** The entries asked for, ascending, each once; throws when this member cannot tell all of them. */
export type EntrySource = (
  indexes: readonly number[],
  /** Recovery generation as members tell it. */
  generation: number,
) => AsyncIterable<SharedEntry>;

export interface RepairOptions extends LogPlace {
  /** Members to ask, in turn, until one has everything. */
  readonly sources: readonly EntrySource[];
  /** Applied index of this node's checkpoint: entries up to it are never replayed here. */
  readonly durableIndex: number;
  /** Whether parts of an entry were let go of: good for the messages left in it, not for the raft log. */
  readonly isPartial: (payload: Buffer) => boolean;
  /** Read every record, or only what a start looks at. */
  readonly full: boolean;
  readonly log: WalLog;
}

export interface RepairedSegment {
  readonly file: string;
  /** What was wrong. */
  readonly damage: WalDamageError;
  /** Entries that came from a member. */
  readonly fetched: number;
}

export interface RepairReport {
  readonly segments: number;
  readonly repaired: readonly RepairedSegment[];
}

/** Throws WalDamageError for what cannot be repaired; what was repaired before it stays repaired. */
export async function repairWal(options: RepairOptions): Promise<RepairReport> {
  const { files, directory, identity } = options;
  const manifest = await readManifest(files, directory);
  if (manifest === undefined) throw missingManifest(directory);
  checkSameDirectory(`${directory}/${MANIFEST_FILE}`, manifest.identity, identity);
  const repair = new Repair(options, manifest);
  return repair.run();
}

/** What is said here stays true however often it is asked. */
class FinalVerdict extends Error {}

const NOBODY: EntrySource = async function* (indexes) {
  if (indexes.length > 0) throw new FinalVerdict('there is no other member to ask');
};

class Repair {
  private readonly repaired: RepairedSegment[] = [];
  private active: SegmentHeader | null = null;

  constructor(
    private readonly options: RepairOptions,
    private manifest: Manifest,
  ) {}

  async run(): Promise<RepairReport> {
    const rows = this.manifest.segments.filter(({ state }) => isSealed(state));
    this.active = await this.headerOf(this.manifest.segments.at(-1) as SegmentRow);
    for (const { sequence } of rows) {
      // An earlier repair may have changed the state of this one.
      const row = this.rowOf(sequence);
      if (row === undefined) continue;
      const examined = await examineSegment(this.options, row, this.options.full);
      if (examined.damage !== null) await this.rebuild(examined, examined.damage);
    }
    return { segments: rows.length, repaired: this.repaired };
  }

  /** Asks one member after another. */
  private async rebuild(examined: Examined, damage: WalDamageError): Promise<void> {
    const { log, sources } = this.options;
    log('damaged segment found', {
      file: damage.file,
      byte: damage.byteOffset,
      why: damage.reason,
    });
    const reasons: string[] = [];
    let maybeLater = false;
    for (const source of sources.length === 0 ? [NOBODY] : sources) {
      try {
        await this.rebuildFrom(source, examined, damage);
        return;
      } catch (error) {
        if (error instanceof WalDamageError) throw error;
        maybeLater ||= !(error instanceof FinalVerdict);
        reasons.push(error instanceof Error ? error.message : String(error));
      }
    }
    const { file, byteOffset, reason, cure } = damage;
    const why = `${reason}; not repaired: ${reasons.join('; ')}`;
    throw new WalDamageError({ file, byteOffset, cure, reason: why, maybeLater });
  }

  private async rebuildFrom(
    source: EntrySource,
    examined: Examined,
    damage: WalDamageError,
  ): Promise<void> {
    const { files, directory, isPartial, log } = this.options;
    const { row } = examined;
    const name = segmentFileName(row.sequence, row.revision + 1);
    const path = `${directory}/${name}`;
    const salvage = await Salvage.open(files, examined);
    const { generation = 0 } = this.active ?? {};
    const theirs = (indexes: readonly number[]): AsyncIterable<SharedEntry> =>
      source(indexes, generation + 1);
    const merge = new Merge(examined, salvage, { theirs, isPartial });
    try {
      const { revision, baseKnown } = await this.revisionOf(examined);
      const written = await writeRevisionFile(
        { files, directory, path },
        revision,
        merge.entries(),
      );
      await this.checkEnd(row, merge);
      const next = { ...row, revision: row.revision + 1, ...written };
      await verifySegmentFile(files, { path, row: next }, () => Promise.resolve(true));
      await this.install(next, merge.missing + merge.partial > 0 || !baseKnown);
    } catch (error) {
      await unlinkIfPresent(files, path);
      throw error;
    } finally {
      await salvage.close();
    }
    await unlinkIfPresent(files, examined.path);
    await files.fsyncDir(directory);
    const { fetched, missing, partial } = merge;
    this.repaired.push({ file: path, damage, fetched });
    log('damaged segment repaired', { file: path, fetched, dead: missing, partial });
  }

  /** A sealed segment with holes leaves the raft log, together with everything before it. */
  private async install(next: SegmentRow, hasHoles: boolean): Promise<void> {
    const retires = hasHoles && next.state === 'sealed';
    if (retires && next.last > this.options.durableIndex) {
      throw new FinalVerdict(
        `the member let go of entries up to ${next.last}, this node needs all after ` +
          `${this.options.durableIndex}: only a replaced node gets on from here`,
      );
    }
    const rows = this.manifest.segments.map((row): SegmentRow => {
      const here = row.sequence === next.sequence ? next : row;
      const leaves = retires && here.state === 'sealed' && here.last <= next.last;
      return leaves ? { ...here, state: 'retired' } : here;
    });
    const { files, directory } = this.options;
    const manifest = { ...this.manifest, edit: this.manifest.edit + 1, segments: rows };
    await writeManifest(files, directory, manifest);
    this.manifest = manifest;
  }

  /**
   * The same entry at an index means the same log up to it. A committed end is the same everywhere;
   * else the member must have the entry that the active segment begins after.
   */
  private async checkEnd(row: SegmentRow, merge: Merge): Promise<void> {
    if (row.state === 'retired' || row.last < row.first) return;
    const active = this.active as SegmentHeader;
    const commit = Math.max(active.hardState.commit, this.options.durableIndex);
    if (row.last <= commit) return;
    const { base } = active;
    const found = base.index === row.last ? merge.termOfLast : await merge.termOf(base.index);
    if (found !== base.term) throw new Error(`the member's entry ${base.index} is of another log`);
  }

  private async revisionOf({ row, header: own, footer }: Examined): Promise<{
    readonly revision: Revision;
    /** False: nobody here knows the term before the first entry, so the raft log cannot begin here. */
    readonly baseKnown: boolean;
  }> {
    const { identity } = this.options;
    const sparse = row.state === 'retired' || (footer?.summary.sparse ?? true);
    const before = this.neighbour(row, -1);
    const previous = before && (await examineSegment(this.options, before, false)).footer;
    const baseTerm = await this.termAt(row.first - 1);
    const after = this.neighbour(row, 1);
    const next = after && (await this.readHeader(after));
    const firstBatch = own?.firstBatch ?? (previous?.summary.batch ?? 0) + 1;
    const hardState = own?.hardState ?? previous?.summary.hardState ?? next?.hardState;
    const active = this.active as SegmentHeader;
    const header: SegmentHeader = own ?? {
      ...{ sequence: row.sequence, identity, firstBatch },
      salt: segmentSalt(identity.directoryId, row.sequence, firstBatch),
      generation: next?.generation ?? active.generation,
      hardState: hardState ?? active.hardState,
      base: { index: logIndex(row.first - 1), term: term(baseTerm ?? 0) },
      configuration: active.configuration,
    };
    const summary = footer?.summary ?? {
      ...{ sequence: row.sequence, base: header.base, lastTerm: 0 },
      batch: next ? next.firstBatch - 1 : header.firstBatch,
      hardState: next?.hardState ?? header.hardState,
    };
    const { first, last } = row;
    return {
      revision: { header, summary: { ...summary, first, last, sparse } },
      baseKnown: own !== null || last < first || baseTerm !== undefined,
    };
  }

  /** Term of an entry that ends a segment here, undefined when no footer tells it. */
  private async termAt(index: number): Promise<number | undefined> {
    if (index === 0) return 0;
    const row = this.manifest.segments.find(({ state, first, last }) => {
      return isSealed(state) && first <= index && index <= last;
    });
    if (row === undefined) return undefined;
    const { footer } = await examineSegment(this.options, row, false);
    return footer?.runs.findLast(({ start }) => start <= index)?.term;
  }

  private neighbour(row: SegmentRow, step: 1 | -1): SegmentRow | undefined {
    const found = this.rowOf(row.sequence + step);
    return found?.state === 'removing' ? undefined : found;
  }

  private rowOf(sequence: number): SegmentRow | undefined {
    return this.manifest.segments.find((row) => row.sequence === sequence);
  }

  /** Null when it does not verify. */
  private async readHeader(row: SegmentRow): Promise<SegmentHeader | null> {
    try {
      return await this.headerOf(row);
    } catch (error) {
      if (error instanceof WalDamageError) return null;
      throw error;
    }
  }

  private async headerOf(row: SegmentRow): Promise<SegmentHeader> {
    const { files, directory } = this.options;
    const path = `${directory}/${segmentFileName(row.sequence, row.revision)}`;
    try {
      const file = await files.open(path, 'read');
      try {
        return (await readSegmentHeader(file, path)).header;
      } finally {
        await file.close();
      }
    } catch (error) {
      if (!isMissing(error)) throw error;
      const reason = 'the file is listed in the manifest but missing';
      throw new WalDamageError({ file: path, byteOffset: 0, reason, cure: REPLACE_NODE_CURE });
    }
  }
}

/** Own entries that verify and the member's others, in order. */
class Merge {
  fetched = 0;
  missing = 0;
  partial = 0;
  termOfLast = 0;

  constructor(
    private readonly examined: Examined,
    private readonly salvage: Salvage,
    private readonly parts: {
      readonly theirs: (indexes: readonly number[]) => AsyncIterable<SharedEntry>;
      readonly isPartial: RepairOptions['isPartial'];
    },
  ) {}

  /** Of an entry the member keeps, else undefined. */
  async termOf(index: number): Promise<number | undefined> {
    for await (const entry of this.parts.theirs([index])) {
      if (entry.index === index && entry.payload !== null) return entry.term;
    }
    return undefined;
  }

  async *entries(): AsyncGenerator<StoredEntry> {
    const wanted = wantedIndexes(this.examined);
    const lost: number[] = [];
    for (const index of wanted) {
      if ((await this.salvage.read(index)) === null) lost.push(index);
    }
    const theirs = this.parts.theirs(lost)[Symbol.asyncIterator]();
    try {
      for (const index of wanted) {
        const entry = (await this.salvage.read(index)) ?? (await this.fetch(theirs, index));
        if (entry === null) continue;
        this.termOfLast = entry.term;
        if (entry.kind === 'normal' && this.parts.isPartial(entry.payload)) this.partial += 1;
        yield entry;
      }
    } finally {
      await theirs.return?.();
    }
  }

  private async fetch(
    theirs: AsyncIterator<SharedEntry>,
    index: number,
  ): Promise<StoredEntry | null> {
    const { done, value } = await theirs.next();
    if (done === true) throw new Error(`the member told nothing about entry ${index}`);
    if (value.index !== index)
      throw new Error(`the member told entry ${value.index}, not ${index}`);
    const { payload } = value;
    if (payload === null) {
      this.missing += 1;
      return null;
    }
    this.fetched += 1;
    return { ...value, index: logIndex(index), payload, parts: [payload] };
  }
}

function isSealed(state: SegmentRow['state']): boolean {
  return state === 'sealed' || state === 'retired';
}
