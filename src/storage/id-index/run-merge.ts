/**
 * Merges neighbouring runs into one larger run, so that a lookup probes a handful of tags however long
 * the window is. All tables are in fragment order, so the merge streams: one stripe of the hash space
 * at a time is read from every run, put into a window of the new table and written out. Entries that
 * spill over the end of a stripe are carried into the next one.
 */
import { homeOf } from './fragment.js';
import type { IdRun } from './id-run.js';
import { SPARE_SLOTS } from './id-table.js';
import { checkPage, PAGE_BYTES, PAGE_HEADER_BYTES, PAGE_SLOTS } from './run-format.js';
import { RECORD_BYTES } from './run-format.js';
import { RunWriter, type FinishedRun, type SlotColumns } from './run-writer.js';

const STRIPE_SLOTS = 1 << 15;
const MAX_LOAD = 0.75;

/** Bits of the table that holds what these runs hold. */
export function mergedBits(runs: readonly IdRun[]): number {
  let count = 0;
  for (const run of runs) count += run.head.count;
  let bits = 12;
  while (count > MAX_LOAD * (1 << bits)) bits += 1;
  return bits;
}

/** Writes the merged run; the runs come oldest first and stay as they are. */
export async function mergeRuns(directory: string, runs: readonly IdRun[]): Promise<FinishedRun> {
  const first = runs[0];
  const last = runs[runs.length - 1];
  if (first === undefined || last === undefined) throw new Error('nothing to merge');
  const bits = mergedBits(runs);
  const writer = await RunWriter.create(directory, {
    bits,
    firstSequence: first.head.firstSequence,
    lastSequence: last.head.lastSequence,
    oldest: Math.min(...runs.map((run) => run.head.oldest)),
    newest: Math.max(...runs.map((run) => run.head.newest)),
  });
  const stripeBits = Math.max(0, bits - 15);
  const stripeSlots = Math.min(STRIPE_SLOTS, 1 << bits);
  const window = new MergeWindow(stripeSlots);
  for (let stripe = 0; stripe < 1 << stripeBits; stripe += 1) {
    window.start = stripe * stripeSlots;
    for (const run of runs) await copyStripe(run, { stripe, stripeBits, bits }, window);
    await writer.write(window, 0, stripeSlots);
    window.carry();
  }
  await writer.write(window, 0, SPARE_SLOTS);
  return writer.finish();
}

interface Stripe {
  readonly stripe: number;
  readonly stripeBits: number;
  /** Bits of the new table. */
  readonly bits: number;
}

/** Puts the entries of one run whose fragment falls into the stripe into the window. */
async function copyStripe(run: IdRun, stripe: Stripe, window: MergeWindow): Promise<void> {
  const { head, tags } = run;
  const shift = head.bits - stripe.stripeBits;
  const from = shift >= 0 ? stripe.stripe * 2 ** shift : Math.floor(stripe.stripe * 2 ** shift);
  let end = shift >= 0 ? (stripe.stripe + 1) * 2 ** shift : from + 1;
  // Displaced entries lie behind the stripe, up to the first empty slot.
  while (tags[end] !== 0) end += 1;
  const pagesFrom = Math.floor(from / PAGE_SLOTS);
  const pagesTo = Math.floor((end - 1) / PAGE_SLOTS) + 1;
  const bytes = await run.readPages(pagesFrom, pagesTo - pagesFrom);
  for (let page = pagesFrom; page < pagesTo; page += 1) {
    const at = (page - pagesFrom) * PAGE_BYTES;
    const view = checkPage(run.file, bytes.subarray(at, at + PAGE_BYTES), page);
    const firstSlot = page * PAGE_SLOTS;
    const until = Math.min(end, firstSlot + PAGE_SLOTS);
    for (let slot = Math.max(from, firstSlot); slot < until; slot += 1) {
      if (tags[slot] === 0) continue;
      const record = PAGE_HEADER_BYTES + (slot - firstSlot) * RECORD_BYTES;
      const hi = view.getUint32(record, true);
      if (homeOf32(hi, stripe.stripeBits) !== stripe.stripe) continue;
      window.add(homeOf(hi, stripe.bits), view, record);
    }
  }
}

/** Stripe of a fragment; a shift by 32 is no shift in this language. */
function homeOf32(hi: number, bits: number): number {
  return bits === 0 ? 0 : homeOf(hi, bits);
}

class MergeWindow implements SlotColumns {
  /** Slot of the new table the window begins at. */
  start = 0;
  readonly tags: Uint16Array;
  readonly hi: Uint32Array;
  readonly lo: Uint32Array;
  readonly offset: Float64Array;
  readonly delta: Uint32Array;

  constructor(private readonly stripeSlots: number) {
    const slots = stripeSlots + SPARE_SLOTS;
    this.tags = new Uint16Array(slots);
    this.hi = new Uint32Array(slots);
    this.lo = new Uint32Array(slots);
    this.offset = new Float64Array(slots);
    this.delta = new Uint32Array(slots);
  }

  add(home: number, view: DataView, record: number): void {
    let slot = home - this.start;
    while (this.tags[slot] !== 0) slot += 1;
    if (slot >= this.tags.length - 1) throw new Error('merged id table overflows its spare slots');
    const lo = view.getUint32(record + 4, true);
    this.tags[slot] = (lo & 0xffff) === 0 ? 1 : lo & 0xffff;
    this.hi[slot] = view.getUint32(record, true);
    this.lo[slot] = lo;
    this.offset[slot] = view.getFloat64(record + 8, true);
    this.delta[slot] = view.getUint32(record + 16, true);
  }

  /** Moves what lies behind the stripe to the beginning of the next one. */
  carry(): void {
    const { stripeSlots } = this;
    for (const column of [this.tags, this.hi, this.lo, this.offset, this.delta]) {
      column.copyWithin(0, stripeSlots);
      column.fill(0, SPARE_SLOTS);
    }
  }
}
