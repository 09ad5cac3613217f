/**
 * Numbers of one group that are nobody's business but the metrics': what its log, store and disk did
 * since the open. Live objects and getters; reading them costs nothing and changes nothing.
 */
import type { QuantileSummary } from '../common/quantile-summary.js';

export interface GroupFigures {
  /** Segment files of the log and their bytes. */
  readonly logUsage: { readonly files: number; readonly bytes: number };
  readonly commandsWritten: number;
  /** One write of the log with its sync, µs; entries and bytes of one write. */
  readonly logWriteMicros: QuantileSummary;
  readonly logWriteEntries: QuantileSummary;
  readonly logWriteBytes: QuantileSummary;
  /** One checkpoint, µs. */
  readonly checkpointMicros: QuantileSummary;
  /** Bytes of changed rows that no checkpoint holds yet. */
  readonly overlayBytes: number;
  /** Percent of the data filesystem in use; null when nobody watches it. */
  readonly diskUsedPercent: number | null;
}

interface Sources {
  readonly wal: {
    readonly usage: GroupFigures['logUsage'];
    readonly commandsWritten: number;
    readonly writeMicros: QuantileSummary;
    readonly writeEntries: QuantileSummary;
    readonly writeBytes: QuantileSummary;
  };
  readonly checkpoints: { readonly commitMicros: QuantileSummary };
  readonly overlay: { readonly byteSize: number };
  readonly diskGate: { readonly usedPercent: number } | undefined;
}

export function readFigures({ wal, checkpoints, overlay, diskGate }: Sources): GroupFigures {
  return {
    logUsage: wal.usage,
    commandsWritten: wal.commandsWritten,
    logWriteMicros: wal.writeMicros,
    logWriteEntries: wal.writeEntries,
    logWriteBytes: wal.writeBytes,
    checkpointMicros: checkpoints.commitMicros,
    overlayBytes: overlay.byteSize,
    diskUsedPercent: diskGate?.usedPercent ?? null,
  };
}
