/**
 * From a scanned push body to a push batch: ids are minted, transactionIds hashed, repeats inside the
 * request collapsed, names checked. Arrays only: nothing is allocated per message.
 */
import { QueenError } from '../common/errors.js';
import type { PushScan } from '../common/json/push-scan.js';
import { ITEM_HAS_ID, ITEM_ID_IN_ARENA } from '../common/json/push-scan.js';
import { murmur3x128Into } from '../common/murmur3-128.js';
import { MAX_TRANSACTION_ID_BYTES, nameBudgetRefusal } from '../common/name-budget.js';
import type { UuidMint } from '../common/uuid-v7.js';
import { UUID_TEXT_BYTES, writeUuidText } from '../common/uuid-v7.js';
import { MESSAGE_FLAG } from '../machine/commands/index.js';
import type { PushBatch } from '../machine/commands/push-batch.js';
import { LEFT_OUT } from '../machine/commands/push-batch.js';
import type { RepeatFinder } from './repeat-finder.js';

const ID_BYTES = 16;
const NO_REPEATS = new Int32Array(0);

/**
 * Index of the first item with the same target and transactionId per item, or -1: the item is its own
 * first. Empty when nothing repeats.
 */
export type FirstOf = Int32Array;

/**
 * The refusal of the whole request, in item order: names where their target is first named, then ids.
 * `placeOf` says where an item stands in the body.
 */
export function refusalOf(
  scan: PushScan,
  placeOf = (item: number): string => `items[${item}]`,
): QueenError | null {
  let checked = 0;
  for (let i = 0; i < scan.count; i += 1) {
    const target = scan.targetOf[i] ?? 0;
    if (target >= checked) {
      const text = nameText(scan, target);
      if (text !== undefined) return new QueenError('name_too_long', text);
      checked = target + 1;
    }
    if (((scan.flags[i] ?? 0) & ITEM_HAS_ID) === 0) continue;
    if ((scan.idEnds[i] ?? 0) - (scan.idStarts[i] ?? 0) <= MAX_TRANSACTION_ID_BYTES) continue;
    return new QueenError(
      'bad_request',
      `${placeOf(i)}.transactionId is longer than ${MAX_TRANSACTION_ID_BYTES} bytes`,
    );
  }
  return null;
}

function nameText(scan: PushScan, target: number): string | undefined {
  const { queues, targets } = scan;
  const queue = targets.ownerOf(target);
  return nameBudgetRefusal({
    queueBytes: queues.endOf(queue) - queues.startOf(queue),
    partitionBytes: targets.endOf(target) - targets.startOf(target),
  });
}

/** What is filled and used while a request is prepared. */
export interface PreparationParts {
  readonly batch: PushBatch;
  readonly repeats: RepeatFinder;
}

/** Fills the batch with every item of the scan; `producerSub` is stamped on each. */
export function prepareBatch(
  scan: PushScan,
  mint: UuidMint,
  parts: PreparationParts,
  producerSub: Uint8Array | null,
): FirstOf {
  const { count } = scan;
  const { batch } = parts;
  const textsAt = scan.arena.reserve(count * UUID_TEXT_BYTES);
  batch.reset(count, scan.body, scan.arena.bytes);
  batch.producerSub = producerSub;
  mint.mintAll(batch.ids, count);
  for (let i = 0; i < count; i += 1) {
    takeItem(scan, batch, i, textsAt + i * UUID_TEXT_BYTES);
  }
  return count === 1 ? NO_REPEATS : collapseRepeats(scan, parts);
}

/** Leaves repeats out of the batch. */
function collapseRepeats(scan: PushScan, parts: PreparationParts): FirstOf {
  const { batch, repeats } = parts;
  let firstOf = NO_REPEATS;
  repeats.begin(scan.count, batch.hashes);
  for (let i = 0; i < scan.count; i += 1) {
    const first = repeats.firstWith(i, scan.targetOf[i] ?? 0);
    if (first < 0) continue;
    if (firstOf.length === 0) firstOf = new Int32Array(scan.count).fill(-1);
    batch.groups[i] = LEFT_OUT;
    firstOf[i] = first;
  }
  return firstOf;
}

/** The text of the minted id stands in for a transactionId that was not brought. */
function takeItem(scan: PushScan, batch: PushBatch, i: number, textAt: number): void {
  const flags = scan.flags[i] ?? 0;
  const own = (flags & ITEM_HAS_ID) !== 0;
  if (!own) writeUuidText(batch.ids, i * ID_BYTES, batch.arena, textAt);
  const start = own ? (scan.idStarts[i] ?? 0) : textAt;
  const end = own ? (scan.idEnds[i] ?? 0) : textAt + UUID_TEXT_BYTES;
  const inArena = !own || (flags & ITEM_ID_IN_ARENA) !== 0;
  batch.groups[i] = scan.targetOf[i] ?? 0;
  batch.idStarts[i] = start;
  batch.idEnds[i] = end;
  batch.inArena[i] = inArena ? 1 : 0;
  batch.flags[i] =
    (own ? MESSAGE_FLAG.clientId : 0) | (batch.producerSub === null ? 0 : MESSAGE_FLAG.producerSub);
  batch.payloadStarts[i] = scan.payloadStarts[i] ?? 0;
  batch.payloadEnds[i] = scan.payloadEnds[i] ?? 0;
  murmur3x128Into(inArena ? batch.arena : batch.body, start, end, batch.hashes, i * ID_BYTES);
}
