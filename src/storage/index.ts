/** What the raft group and the readers may use of the store. */
export { compareKeys, prefixRange, type KeyRange } from './byte-order.js';
export { appliedIndexOf, CHECKPOINT_FILE } from './checkpoint-record.js';
export { CheckpointWriter, type CheckpointWriterOptions } from './checkpoint-writer.js';
export { DiskGate, type DiskGateOptions, type DiskPressure, type DiskUsage } from './disk-gate.js';
export { CURE_REPLACE, StoreDamageError, StoreWriteError, type Damage } from './errors.js';
export { makeDirectory } from './make-directory.js';
export { namesIn } from './names-in.js';
export { Overlay, type OverlayOptions } from './overlay.js';
export type { FrozenLayer } from './overlay-layer.js';
export { Rows, StoreView } from './rows.js';
export { STORE_DIRECTORY, Store, type OpenReport, type StoreOptions } from './store.js';
export type { StoreMeta } from './store-meta.js';
export { syncDirectory, syncDirectoryNow } from './sync-directory.js';
export { StoreSnapshot, type Row, type RowScan, type ScanOptions } from './store-snapshot.js';
export { verifyStore, type StoreVerification } from './verify-store.js';
