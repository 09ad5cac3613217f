/** The write-ahead log, as the rest of the broker may use it. */
export {
  EntryNotFoundError,
  WalDamageError,
  WalPoisonedError,
  WalUnavailableError,
  type WalDamage,
} from './errors.js';
export { decodeDocument, encodeDocument, type DocumentKind } from './document.js';
export { isMissing, readWholeFile, replaceFile } from './file-port.js';
export type { FilePort, OpenFile, OpenMode } from './file-port.js';
export { NodeFilePort } from './node-file-port.js';
export {
  decodeIdentity,
  IDENTITY_FILE,
  markDirectoryReady,
  openIdentity,
  type IdentityOptions,
  type OpenedIdentity,
} from './identity.js';
export { parseSegmentFileName, segmentFileName } from './manifest.js';
export type { SegmentRow, SegmentState } from './manifest.js';
export { FOREIGN_FILE_CURE, REPLACE_NODE_CURE } from './errors.js';
export { SYNCED_FILE } from './synced-mark.js';
export { MANIFEST_FILE } from './manifest.js';
export { examineSegment } from './examine.js';
export { repairWal } from './repair.js';
export type { EntrySource, RepairReport, SharedEntry } from './repair.js';
export { verifyWal, type FoundLog, type VerifiedWal } from './verify.js';
export type { ScrubOptions, ScrubReport } from './scrub.js';
export type {
  DirectoryIdentity,
  EntryKind,
  EntryLocation,
  HardState,
  LogPosition,
  StoredEntry,
  WalBatch,
  WalEntry,
  WalLog,
} from './types.js';
export { DEFAULT_SEGMENT_BYTES, Wal, type SegmentFile, type WalOptions } from './wal.js';
export { createWal, type WalSeed } from './wal-creation.js';
