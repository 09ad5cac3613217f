/**
 * Numbers of one group that are nobody's business but the metrics': what its log, store and disk did
 * since the open. Live objects and getters; reading them costs nothing and changes nothing.
 */
import type { QuantileSummary } from '../common/quantile-summary.js';
import type { StageFigures } from '../common/stage-figures.js';
import type { RowOperations } from './row-ports.js';

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
  /** Size of the data filesystem; null when nobody watches it. */
  readonly diskBytes: number | null;
  readonly stages: StageFigures;
  readonly rowOperations: RowOperations;
  /** Changed rows that no checkpoint holds yet. */
  readonly overlayRows: number;
  /** Views of the store open now. */
  readonly openViews: number;
  /** Runs of the id index, and ids in it. */
  readonly idIndex: { readonly ids: number; readonly runs: number };
  /** Traces put minus traces deleted since the open. */
  readonly traceDelta: number;
  /** Bytes of the store's tables that hold keyspaces `from` to before `to`. */
  storeBytes(from: number, to: number): Promise<number>;
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
  readonly overlay: { readonly byteSize: number; readonly rowCount: number };
  readonly diskGate: { readonly usedPercent: number; readonly totalBytes: number } | undefined;
  readonly stages: StageFigures;
  readonly rows: {
    readonly operations: RowOperations;
    readonly openViews: number;
    readonly traceDelta: number;
  };
  readonly ids: { readonly stats: GroupFigures['idIndex'] };
  readonly store: {
    approximateBytes(range: {
      readonly from: Uint8Array;
      readonly to: Uint8Array;
    }): Promise<number>;
  };
}

export function readFigures(sources: Sources): GroupFigures {
  const { wal, checkpoints, overlay, diskGate, stages, rows, ids, store } = sources;
  return {
    logUsage: wal.usage,
    commandsWritten: wal.commandsWritten,
    logWriteMicros: wal.writeMicros,
    logWriteEntries: wal.writeEntries,
    logWriteBytes: wal.writeBytes,
    checkpointMicros: checkpoints.commitMicros,
    overlayBytes: overlay.byteSize,
    diskUsedPercent: diskGate?.usedPercent ?? null,
    diskBytes: diskGate?.totalBytes ?? null,
    stages,
    rowOperations: rows.operations,
    overlayRows: overlay.rowCount,
    idIndex: ids.stats,
    openViews: rows.openViews,
    traceDelta: rows.traceDelta,
    storeBytes: (from, to) =>
      store.approximateBytes({ from: Uint8Array.of(from), to: Uint8Array.of(to) }),
  };
}
