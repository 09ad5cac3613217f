/**
 * From a scanned push body to a push batch: ids are minted, transactionIds hashed, repeats inside the
 * request collapsed, names checked. Arrays only: nothing is allocated per message.
 */
import { QueenError } from '../common/errors.js';
import { murmur3x128Into } from '../common/murmur3-128.js';
import { nameRefusal } from '../common/name-budget.js';
import type { PushScan } from '../common/json/push-scan.js';
import { ITEM_HAS_ID, ITEM_ID_IN_ARENA } from '../common/json/push-scan.js';
import type { UuidMint } from '../common/uuid-v7.js';
import { UUID_TEXT_BYTES, writeUuidText } from '../common/uuid-v7.js';
import { MESSAGE_FLAG } from '../machine/commands/index.js';
import { LEFT_OUT, PushBatch } from '../machine/commands/push-batch.js';
import { RepeatFinder } from './repeat-finder.js';

const MAX_TRANSACTION_ID_BYTES = 65_535;
const ID_BYTES = 16;

export interface PreparedPush {
  readonly batch: PushBatch;
  /** Index of the first item with the same target and transactionId, or -1: the item is its own first. */
  readonly firstOf: Int32Array;
}

/** Refuses the whole request (names, id lengths) or prepares every item. */
export function preparePush(
  scan: PushScan,
  mint: UuidMint,
  producerSub: Uint8Array | null,
): PreparedPush {
  checkItems(scan);
  const { count } = scan;
  const minted = mintTexts(scan, mint);
  const batch = new PushBatch(count, scan.body, scan.arena.bytes);
  batch.producerSub = producerSub;
  batch.ids.set(minted.ids);
  const firstOf = new Int32Array(count).fill(-1);
  const repeats = new RepeatFinder(count, batch.hashes);
  for (let i = 0; i < count; i += 1) {
    takeItem(scan, batch, { item: i, textAt: minted.textsAt + i * UUID_TEXT_BYTES });
    const target = scan.targetOf[i] ?? 0;
    const first = repeats.firstWith(i, target);
    if (first < 0) batch.groups[i] = target;
    else {
      batch.groups[i] = LEFT_OUT;
      firstOf[i] = first;
    }
  }
  return { batch, firstOf };
}

/** In item order; names are checked where their target is first named. */
function checkItems(scan: PushScan): void {
  let checked = 0;
  for (let i = 0; i < scan.count; i += 1) {
    const target = scan.targetOf[i] ?? 0;
    if (target >= checked) {
      checkNames(scan, target);
      checked = target + 1;
    }
    if (((scan.flags[i] ?? 0) & ITEM_HAS_ID) === 0) continue;
    if ((scan.idEnds[i] ?? 0) - (scan.idStarts[i] ?? 0) <= MAX_TRANSACTION_ID_BYTES) continue;
    throw new QueenError(
      'bad_request',
      `items[${i}].transactionId is longer than ${MAX_TRANSACTION_ID_BYTES} bytes`,
    );
  }
}

function checkNames(scan: PushScan, target: number): void {
  const names = { queue: scan.queueText(target), partition: scan.partitionText(target) };
  const text = nameRefusal(names);
  if (text !== undefined) throw new QueenError('name_too_long', text);
}

/** Mints an id per item; its text goes to the scan's arena where an item brought no transactionId. */
function mintTexts(scan: PushScan, mint: UuidMint): { ids: Uint8Array; textsAt: number } {
  const ids = new Uint8Array(scan.count * ID_BYTES);
  const textsAt = scan.arena.reserve(scan.count * UUID_TEXT_BYTES);
  for (let i = 0; i < scan.count; i += 1) {
    mint.mintInto(ids, i * ID_BYTES);
    if (((scan.flags[i] ?? 0) & ITEM_HAS_ID) !== 0) continue;
    writeUuidText(ids, i * ID_BYTES, scan.arena.bytes, textsAt + i * UUID_TEXT_BYTES);
  }
  return { ids, textsAt };
}

function takeItem(
  scan: PushScan,
  batch: PushBatch,
  from: { readonly item: number; readonly textAt: number },
): void {
  const i = from.item;
  const flags = scan.flags[i] ?? 0;
  const own = (flags & ITEM_HAS_ID) !== 0;
  const start = own ? (scan.idStarts[i] ?? 0) : from.textAt;
  const end = own ? (scan.idEnds[i] ?? 0) : from.textAt + UUID_TEXT_BYTES;
  const inArena = !own || (flags & ITEM_ID_IN_ARENA) !== 0;
  batch.idStarts[i] = start;
  batch.idEnds[i] = end;
  batch.inArena[i] = inArena ? 1 : 0;
  batch.flags[i] =
    (own ? MESSAGE_FLAG.clientId : 0) | (batch.producerSub === null ? 0 : MESSAGE_FLAG.producerSub);
  batch.payloadStarts[i] = scan.payloadStarts[i] ?? 0;
  batch.payloadEnds[i] = scan.payloadEnds[i] ?? 0;
  murmur3x128Into(inArena ? batch.arena : batch.body, start, end, batch.hashes, i * ID_BYTES);
}
