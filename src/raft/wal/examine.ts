/**
 * Looks at one sealed or retired segment of a log that is not open: whole, or what is wrong with it and
 * which of its entries still verify. What its header and footer say is told only when they verify.
 */
import { decodeEntry } from './entry-reader.js';
import { REPLACE_NODE_CURE, WalDamageError } from './errors.js';
import { isMissing, readUpTo, type FilePort, type OpenFile } from './file-port.js';
import { readFooter, readTrailer } from './footer.js';
import { segmentFileName, type SegmentRow } from './manifest.js';
import { RECORD_HEADER_BYTES } from './record.js';
import { verifySegmentFile } from './scrub.js';
import { readSegmentHeader, type SegmentHeader } from './segment-header.js';
import type { DirectoryIdentity, StoredEntry } from './types.js';

export type ReadFooter = Awaited<ReturnType<typeof readFooter>>;

export interface Examined {
  readonly row: SegmentRow;
  readonly path: string;
  /** Null when every byte verifies. */
  readonly damage: WalDamageError | null;
  readonly header: SegmentHeader | null;
  /** Only together with the header: its checksum depends on it. */
  readonly footer: ReadFooter | null;
}

export interface LogPlace {
  readonly files: FilePort;
  readonly directory: string;
  readonly identity: DirectoryIdentity;
}

/** `full` reads every record; else only presence, size, header and footer are looked at. */
export async function examineSegment(
  { files, directory, identity }: LogPlace,
  row: SegmentRow,
  full: boolean,
): Promise<Examined> {
  const path = `${directory}/${segmentFileName(row.sequence, row.revision)}`;
  const seen: { header: SegmentHeader | null; footer: ReadFooter | null } = {
    ...{ header: null, footer: null },
  };
  let damage: WalDamageError | null = null;
  try {
    const file = await openPresent(files, path);
    try {
      const { header } = await readSegmentHeader(file, path);
      checkOwner(path, header, { row, identity });
      seen.header = header;
      const { sizeBytes } = row;
      const footer = await readFooter(file, path, { sizeBytes, salt: header.salt });
      const { checksum } = await readTrailer(file, path, sizeBytes);
      checkFooter(path, footer, { row, checksum });
      seen.footer = footer;
      const fileBytes = await file.sizeBytes();
      if (fileBytes !== sizeBytes) throw wrong(path, sizeBytes, `the file has ${fileBytes} bytes`);
    } finally {
      await file.close();
    }
    if (full) await verifySegmentFile(files, { path, row }, () => Promise.resolve(true));
  } catch (error) {
    if (!(error instanceof WalDamageError)) throw error;
    damage = error;
  }
  return { row, path, damage, ...seen };
}

/** Indexes of a damaged segment that are to be had: those its table tells, else all of its range. */
export function wantedIndexes({ row, footer }: Examined): number[] {
  const wanted: number[] = [];
  if (footer === null) {
    for (let index = row.first; index <= row.last; index += 1) wanted.push(index);
    return wanted;
  }
  const { table } = footer;
  for (let slot = 0; slot < table.count; slot += 1) {
    const index = table.indexAt(slot);
    if (index >= row.first && index <= row.last) wanted.push(index);
  }
  return wanted;
}

/** Reads what still verifies of a damaged segment, one entry at a time. */
export class Salvage {
  private constructor(
    private readonly examined: Examined,
    private readonly file: OpenFile | null,
  ) {}

  static async open(files: FilePort, examined: Examined): Promise<Salvage> {
    const { header, footer, path } = examined;
    if (header === null || footer === null) return new Salvage(examined, null);
    return new Salvage(examined, await openPresent(files, path));
  }

  /** Null when it is not whole here. */
  async read(index: number): Promise<StoredEntry | null> {
    const { file } = this;
    const { header, footer, path } = this.examined;
    if (file === null || header === null || footer === null) return null;
    const { table } = footer;
    const slot = table.slotOf(index);
    if (slot < 0) return null;
    const position = table.positionAt(slot);
    const sizeBytes = RECORD_HEADER_BYTES + table.payloadBytesAt(slot);
    const bytes = await readUpTo(file, position, sizeBytes);
    try {
      if (bytes.length < sizeBytes) return null;
      return decodeEntry({ path, salt: header.salt, file, table }, { bytes, position, index });
    } catch (error) {
      if (error instanceof WalDamageError) return null;
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.file?.close();
  }
}

function checkOwner(
  path: string,
  header: SegmentHeader,
  { row, identity }: { readonly row: SegmentRow; readonly identity: DirectoryIdentity },
): void {
  if (header.sequence !== row.sequence) {
    throw wrong(path, 24, `the file holds segment ${header.sequence}, not ${row.sequence}`);
  }
  const { directoryId } = header.identity;
  if (directoryId !== identity.directoryId && directoryId !== row.origin) {
    throw wrong(path, 32, `the file belongs to data directory ${directoryId}`);
  }
}

function checkFooter(
  path: string,
  { summary }: ReadFooter,
  { row, checksum }: { readonly row: SegmentRow; readonly checksum: number },
): void {
  const isSame =
    checksum === row.checksum &&
    summary.sequence === row.sequence &&
    (row.last < row.first || (summary.first <= row.first && row.last <= summary.last));
  if (!isSame) throw wrong(path, summary.footerPosition, 'the footer contradicts the manifest');
}

async function openPresent(files: FilePort, path: string): Promise<OpenFile> {
  try {
    return await files.open(path, 'read');
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw wrong(path, 0, 'the file is listed in the manifest but missing');
  }
}

function wrong(file: string, byteOffset: number, reason: string): WalDamageError {
  return new WalDamageError({ file, byteOffset, reason, cure: REPLACE_NODE_CURE });
}
