/**
 * Reads messages of one partition: index rows first, then the bytes (tail cache, else the log
 * segment), then the checksum of every message. A checksum that does not hold is damage: the node
 * stops, it never serves around it.
 */
import { crc32 } from 'node:zlib';
import { QueenError } from '../../common/errors.js';
import { logIndex } from '../../common/ids.js';
import { RecordGoneError } from '../../common/record-gone.js';
import { isSealed } from '../../common/sealed-payload.js';
import type { AppendFinder } from './append-finder.js';
import type { ReadPins } from './collector/read-pins.js';
import type { PayloadCipher, RecordPlace, StoredMessage } from './group.js';
import { isGone } from './log-errors.js';
import type { AppendPlace, AppendRow, AppendRows, PayloadRange, WalPort } from './ports.js';
import type { TailCache } from './tail-cache.js';

/** Ranges of one answer read from files at the same time. */
const READ_AHEAD = 16;
const CURE =
  'In a cluster start this node again while its peers run, it rebuilds the segment from them; if it ' +
  'still refuses, remove the member, empty its data directory and let it join again. On a single node ' +
  'restore a backup.';

/** Stored bytes of a message do not match what was acknowledged. */
export class MessageDamageError extends Error {
  override readonly name = 'MessageDamageError';
  readonly code = 'message_damage';
}

export interface MessageReaderParts {
  readonly finder: AppendFinder;
  readonly appends: AppendRows;
  readonly tail: TailCache;
  readonly wal: WalPort;
  /** Reads under way hold the files they may need. */
  readonly pins?: ReadPins;
  /** Opens encrypted payloads; null, absent: this node has no key. */
  readonly cipher?: PayloadCipher | null;
  damaged(error: Error): void;
}

/** Consecutive messages of one append. */
interface Piece {
  readonly row: AppendRow;
  readonly firstItem: number;
  readonly lastItem: number;
  readonly range: PayloadRange;
}

export class MessageReader {
  constructor(private readonly parts: MessageReaderParts) {}

  /** Messages of [first, last] that exist, ascending. */
  read(place: AppendPlace, first: number, last: number): Promise<StoredMessage[]> {
    if (last < first) return Promise.resolve([]);
    return this.held(() => this.readRange(place, first, last));
  }

  private async held<T>(read: () => Promise<T>): Promise<T> {
    const { pins } = this.parts;
    const epoch = pins?.enter() ?? 0;
    try {
      return await read();
    } finally {
      pins?.leave(epoch);
    }
  }

  private async readRange(
    place: AppendPlace,
    first: number,
    last: number,
  ): Promise<StoredMessage[]> {
    const rows = await this.parts.finder.find(place, first, last);
    const pieces = rows
      .map((row) => pieceOf(row, first, last))
      .filter((piece) => piece !== undefined);
    const messages: StoredMessage[] = [];
    for (let from = 0; from < pieces.length; from += READ_AHEAD) {
      const slice = pieces.slice(from, from + READ_AHEAD);
      const loaded = slice.map((piece) => this.parts.tail.slice(piece.range));
      if (loaded.includes(undefined)) await this.loadMissing(slice, loaded);
      for (let i = 0; i < slice.length; i += 1) {
        const piece = slice[i];
        const bytes = loaded[i];
        if (piece === undefined || bytes === undefined) continue;
        if (!this.unpack(piece, bytes, messages)) throw await this.damage(piece, bytes);
      }
    }
    return messages;
  }

  /** One record by its place in the log. */
  readRecord(place: RecordPlace): Promise<Uint8Array> {
    return this.held(() => this.readPlace(place));
  }

  private async readPlace({ entryIndex, start, length, crc }: RecordPlace): Promise<Uint8Array> {
    const range = { index: logIndex(entryIndex), start, length };
    let bytes = this.parts.tail.slice(range);
    try {
      bytes ??= await this.parts.wal.readRange(range);
    } catch (error) {
      if (isGone(error)) throw new RecordGoneError(`entry ${entryIndex} is not kept any more`);
      throw this.stop(error instanceof Error ? error.message : String(error));
    }
    if (bytes.length === length && crc32(bytes) === crc) return bytes;
    if (await this.isLetGo(range)) {
      throw new RecordGoneError(`this part of entry ${entryIndex} is not kept any more`);
    }
    const where = await this.parts.wal.describe(range);
    throw this.stop(`a record does not match its checksum: ${where}. ${CURE}`);
  }

  /** The row that named the place went meanwhile, and the log let go of just these bytes. */
  private async isLetGo({ index }: PayloadRange): Promise<boolean> {
    try {
      return (await this.parts.wal.letGoIn?.(index)) ?? false;
    } catch (error) {
      // Gone as a whole by now; anything else is damage, told with its place.
      return isGone(error);
    }
  }

  private async loadMissing(
    pieces: readonly Piece[],
    loaded: (Uint8Array | undefined)[],
  ): Promise<void> {
    try {
      await Promise.all(
        pieces.map(async (piece, i) => {
          loaded[i] ??= await this.parts.wal.readRange(piece.range);
        }),
      );
    } catch (error) {
      throw this.stop(error instanceof Error ? error.message : String(error));
    }
  }

  /** False when a message does not match its checksum. */
  private unpack(piece: Piece, bytes: Uint8Array, messages: StoredMessage[]): boolean {
    const { row } = piece;
    for (let item = piece.firstItem; item <= piece.lastItem; item += 1) {
      const record = recordOf(piece, item, bytes);
      if (record.length !== row.length(item) || crc32(record) !== row.crc(item)) return false;
      messages.push(this.opened(this.parts.appends.message(row, item, record)));
    }
    return true;
  }

  /** The message with its payload in clear. Ciphertext never leaves as data. */
  private opened(message: StoredMessage): StoredMessage {
    if (!message.encrypted || !isSealed(message.payload)) return message;
    const { cipher } = this.parts;
    if (cipher === null || cipher === undefined) {
      throw new QueenError('retry', 'QUEEN_ENCRYPTION_KEY is not set on this node');
    }
    return { ...message, payload: cipher.open(message.payload) ?? message.payload };
  }

  private async damage(piece: Piece, bytes: Uint8Array): Promise<QueenError> {
    const { row, range } = piece;
    let item = piece.firstItem;
    while (item < piece.lastItem && crc32(recordOf(piece, item, bytes)) === row.crc(item))
      item += 1;
    const place = { index: range.index, start: row.start(item), length: row.length(item) };
    const where = await this.parts.wal.describe(place);
    const offset = row.baseOffset + item;
    return this.stop(`message ${offset} does not match its record checksum: ${where}. ${CURE}`);
  }

  private stop(message: string): QueenError {
    this.parts.damaged(new MessageDamageError(message));
    return new QueenError('retry');
  }
}

function recordOf(piece: Piece, item: number, bytes: Uint8Array): Uint8Array {
  const start = piece.row.start(item) - piece.range.start;
  return bytes.subarray(start, start + piece.row.length(item));
}

function pieceOf(row: AppendRow, first: number, last: number): Piece | undefined {
  const firstItem = Math.max(0, first - row.baseOffset);
  const lastItem = Math.min(row.count - 1, last - row.baseOffset);
  if (firstItem > lastItem) return undefined;
  const start = row.start(firstItem);
  const length = row.start(lastItem) + row.length(lastItem) - start;
  return { row, firstItem, lastItem, range: { index: row.entryIndex, start, length } };
}
