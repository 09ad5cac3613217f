/**
 * Resolves transactionId hashes to offsets, for acknowledgements and lookups by id. First the asked
 * span, from the end the caller names; then what is still recognised below it: the id index (client
 * ids within the window), then the rows of the last 65,536 offsets (any id).
 */
import type { AppendFinder } from './append-finder.js';
import type { IdSpan } from './group.js';
import type { AppendPlace, AppendRow, IdIndexDriver } from './ports.js';

const HASH_BYTES = 16;
/** Offsets below the span that are searched row by row. */
const LOOK_BACK = 65_536;
/** Offsets per search step: rows of one step are in memory at once. */
const STEP = 4096;

export interface ResolvedIds {
  readonly offsets: Float64Array;
  readonly bases: Float64Array;
}

export class IdResolver {
  constructor(
    private readonly finder: AppendFinder,
    private readonly ids: Pick<IdIndexDriver, 'lookup'>,
  ) {}

  async find(place: AppendPlace, hashes: Uint8Array, span: IdSpan): Promise<ResolvedIds> {
    const count = Math.floor(hashes.length / HASH_BYTES);
    const search = new Search(hashes, count);
    if (span.oldestFirst === true) await this.scanUp(place, search, span);
    else await this.scan(place, search, span);
    if (search.missing > 0) await this.askIndex(place, search, span.first);
    const lower = { first: Math.max(0, span.first - LOOK_BACK), last: span.first - 1 };
    if (search.missing > 0) await this.scan(place, search, lower);
    return { offsets: search.offsets, bases: search.bases };
  }

  /** Newest rows first, until every hash is found or the span is through. */
  private async scan(place: AppendPlace, search: Search, span: IdSpan): Promise<void> {
    for (let last = span.last; last >= span.first && search.missing > 0; last -= STEP) {
      const first = Math.max(span.first, last - STEP + 1);
      const rows = await this.finder.find(place, first, last);
      for (let i = rows.length - 1; i >= 0; i -= 1) {
        const row = rows[i];
        if (row !== undefined) search.visit(row, span);
      }
    }
  }

  /** Oldest rows first. */
  private async scanUp(place: AppendPlace, search: Search, span: IdSpan): Promise<void> {
    for (let first = span.first; first <= span.last && search.missing > 0; first += STEP) {
      const last = Math.min(span.last, first + STEP - 1);
      for (const row of await this.finder.find(place, first, last)) search.visit(row, span);
    }
  }

  private async askIndex(place: AppendPlace, search: Search, below: number): Promise<void> {
    for (const i of search.unresolved()) {
      const at = i * HASH_BYTES;
      const places = await this.ids.lookup(place.partitionId, search.hashes, at);
      for (const { offset, base } of places) {
        if (offset >= below) continue;
        const row = await this.finder.byBase(place, base);
        const item = row?.findHash(search.hashes, at) ?? -1;
        if (item < 0 || base + item !== offset) continue;
        search.resolve(i, offset, base);
        break;
      }
    }
  }
}

/** Items of a row, both ends included, and the way through them. */
interface Walk {
  readonly low: number;
  readonly high: number;
  readonly step: 1 | -1;
}

/** The hashes of one call and where they were found. */
class Search {
  readonly offsets: Float64Array;
  readonly bases: Float64Array;
  missing: number;
  /** First 4 bytes of each unresolved hash → its numbers; null for a few hashes. */
  private readonly byWord: Map<number, number[]> | null;

  constructor(
    readonly hashes: Uint8Array,
    private readonly count: number,
  ) {
    this.offsets = new Float64Array(count).fill(-1);
    this.bases = new Float64Array(count).fill(-1);
    this.missing = count;
    this.byWord = count > 4 ? this.buildWords() : null;
  }

  unresolved(): number[] {
    const numbers: number[] = [];
    for (let i = 0; i < this.count; i += 1) if (this.offsets[i] === -1) numbers.push(i);
    return numbers;
  }

  resolve(i: number, offset: number, base: number): void {
    this.offsets[i] = offset;
    this.bases[i] = base;
    this.missing -= 1;
  }

  /** Looks for the unresolved hashes in a row, from the end the span names. */
  visit(row: AppendRow, { first, last, oldestFirst }: IdSpan): void {
    const low = Math.max(0, first - row.baseOffset);
    const high = Math.min(row.count - 1, last - row.baseOffset);
    const walk: Walk = { low, high, step: oldestFirst === true ? 1 : -1 };
    if (this.byWord === null) for (const i of this.unresolved()) this.visitOne(row, i, walk);
    else this.visitWords(row, this.byWord, walk);
  }

  private visitWords(row: AppendRow, byWord: ReadonlyMap<number, number[]>, walk: Walk): void {
    const { low, high, step } = walk;
    for (let item = step > 0 ? low : high; item >= low && item <= high; item += step) {
      if (this.missing === 0) return;
      const numbers = byWord.get(row.hashWord(item));
      if (numbers === undefined) continue;
      for (const i of numbers) {
        if (this.offsets[i] !== -1 || !row.hashEquals(item, this.hashes, i * HASH_BYTES)) continue;
        this.resolve(i, row.baseOffset + item, row.baseOffset);
      }
    }
  }

  private visitOne(row: AppendRow, i: number, { low, high, step }: Walk): void {
    const at = i * HASH_BYTES;
    for (let item = step > 0 ? low : high; item >= low && item <= high; item += step) {
      if (!row.hashEquals(item, this.hashes, at)) continue;
      this.resolve(i, row.baseOffset + item, row.baseOffset);
      return;
    }
  }

  private buildWords(): Map<number, number[]> {
    const words = new Map<number, number[]>();
    const view = new DataView(this.hashes.buffer, this.hashes.byteOffset, this.hashes.byteLength);
    for (let i = 0; i < this.count; i += 1) {
      const word = view.getUint32(i * HASH_BYTES, true);
      const numbers = words.get(word);
      if (numbers === undefined) words.set(word, [i]);
      else numbers.push(i);
    }
    return words;
  }
}
