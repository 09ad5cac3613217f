/**
 * What a snapshot directory says about itself. It is written last, so a directory without it is not a
 * snapshot; it names every other file with its size.
 *
 *   <snapshot>/snapshot   this document      <snapshot>/rows   rows of one view
 *   <snapshot>/wal/*.seg  segments with the messages those rows point to
 */
import type { ConfigState } from '../core/index.js';
import { canonicalConfig } from '../core/index.js';
import { nodeId } from '../../common/ids.js';
import {
  decodeDocument,
  encodeDocument,
  type DocumentKind,
  type SegmentFile,
} from '../wal/index.js';

export const DESCRIPTOR_FILE = 'snapshot';
export const ROWS_FILE = 'rows';
export const SEGMENTS_DIRECTORY = 'wal';
const KIND: DocumentKind = { name: 'queen-snapshot', version: 1 };

export type SegmentEntry = Omit<SegmentFile, 'path'>;

export interface SnapshotDescriptor {
  readonly clusterId: string;
  readonly clusterVersion: number;
  /** Recovery generation of the log it was taken from. */
  readonly generation: number;
  readonly appliedIndex: number;
  readonly appliedTerm: number;
  /** Hex. */
  readonly digest: string;
  /** The machine's header row, hex. */
  readonly header: string;
  readonly config: ConfigState;
  readonly rowCount: number;
  readonly rowsBytes: number;
  readonly segments: readonly SegmentEntry[];
}

export function encodeDescriptor(descriptor: SnapshotDescriptor): Buffer {
  return encodeDocument(KIND, descriptor);
}

/** Throws WalDamageError when it is damaged, newer, or says too little. */
export function decodeDescriptor(path: string, bytes: Buffer): SnapshotDescriptor {
  const body = decodeDocument(KIND, path, bytes) as SnapshotDescriptor;
  const { config } = body;
  const ids = (list: readonly number[]): ReturnType<typeof nodeId>[] => list.map(nodeId);
  return {
    ...body,
    config: canonicalConfig({
      voters: ids(config.voters),
      outgoing: ids(config.outgoing),
      learners: ids(config.learners),
      learnersNext: ids(config.learnersNext),
      autoLeave: config.autoLeave,
    }),
  };
}
