/**
 * The half of a group that does not know how entries get committed: apply loop, checkpoints, readers,
 * events, views. A group of one voter and a clustered one feed it committed entries; everything here is
 * the same on a single node, a leader and a follower.
 */
import type { Clock } from '../../common/clock.js';
import type { LogIndex } from '../../common/ids.js';
import type { StageFigures } from '../../common/stage-figures.js';
import { partitionId as asPartitionId } from '../../common/ids.js';
import type { OutcomeSink } from '../../machine/machine.js';
import type { Tables } from '../../machine/tables/tables.js';
import { AppendFinder } from './append-finder.js';
import { ApplyLoop } from './apply-loop.js';
import { Checkpointer } from './checkpointer.js';
import type { CollectorOptions } from './collector/collector.js';
import { ReadPins } from './collector/read-pins.js';
import { EventHub } from './event-hub.js';
import type { GroupView, IdSpan, PayloadCipher, RecordPlace, StoredMessage } from './group.js';
import { IdResolver, type ResolvedIds } from './id-resolver.js';
import { LastReturns } from './last-returns.js';
import { Maintenance } from './maintenance.js';
import { MessageReader } from './message-reader.js';
import type { PartitionPlace, GroupLog, IdIndexDriver, LogEntry, MachineParts } from './ports.js';
import type { RowsPort, StorePort, WalPort } from './ports.js';
import { TailCache } from './tail-cache.js';
import type { TailIndex } from './tail-index.js';

export interface StateSideParts {
  readonly clock: Clock;
  readonly log: GroupLog;
  readonly wal: WalPort;
  readonly store: StorePort;
  readonly rows: RowsPort;
  readonly ids: IdIndexDriver;
  readonly machine: MachineParts;
  readonly tailIndex: TailIndex;
  readonly tailCacheBytes: number;
  /** Absent: this node has no encryption key. */
  readonly cipher?: PayloadCipher | null;
  /** Absent: log segments are never freed. */
  readonly collector?: CollectorOptions;
  /** Takes entries a checkpoint covers out of the raft log. Absent: somebody else does that. */
  readonly purge?: (index: LogIndex) => Promise<void>;
  /** Entries kept in the raft log behind the durable index. */
  readonly logKeepEntries?: number;
  /** Counts and times of what commands pass. */
  readonly stages?: StageFigures;
  /** Shared with whoever else reads log bytes. */
  readonly pins?: ReadPins;
  /** For tests: throws at an entry that is to fail. */
  readonly refuse?: (entry: LogEntry) => void;
}

export interface StateSideHooks {
  readonly outcomes: OutcomeSink;
  nowMicros(): number;
  applied(entry: LogEntry): void;
  applyFailed(entry: LogEntry, error: unknown): void;
  /** Claims are on their way to the log. */
  isGranting(): boolean;
  /** The log met damage: from now on nobody may be granted anything, until `failed` stops the group. */
  ending?(error: unknown): void;
  /** Store, log or stored bytes are damaged or cannot be written. */
  failed(error: unknown): void;
}

export class StateSide {
  readonly tables: Tables;
  readonly events: EventHub;
  readonly tail: TailCache;
  readonly apply: ApplyLoop;
  readonly checkpointer: Checkpointer;
  readonly maintenance: Maintenance;
  readonly returns: LastReturns;
  private readonly pins: ReadPins;
  private readonly reader: MessageReader;
  private readonly resolver: IdResolver;

  constructor(
    private readonly parts: StateSideParts,
    private readonly hooks: StateSideHooks,
  ) {
    const { machine, rows, store, ids, wal, clock } = parts;
    const nowMs = (): number => clock.monotonicMicros() / 1000;
    const timed = parts.stages === undefined ? {} : { stages: parts.stages };
    this.returns = new LastReturns(parts.log, () => hooks.isGranting() || this.pins.isHeld);
    this.pins = parts.pins ?? new ReadPins();
    this.tables = machine.tables;
    this.events = new EventHub(parts.log);
    this.tail = new TailCache(parts.tailCacheBytes);
    this.checkpointer = new Checkpointer({
      ...{ parts: machine, rows, store, ids, nowMs, ...timed },
      ...(parts.logKeepEntries === undefined ? {} : { logKeepEntries: parts.logKeepEntries }),
      indexBefore: (bytes) => wal.indexBefore?.(bytes) ?? 0,
      purge: parts.purge ?? (() => Promise.resolve()),
      failed: (error) => hooks.failed(error),
    });
    const view = (): Promise<GroupView> => this.view();
    const { retired } = wal;
    const { collector: options } = parts;
    this.maintenance = new Maintenance({
      ...{ machine, rows, log: parts.log, view },
      ...(retired === undefined || options === undefined
        ? {}
        : {
            collecting: {
              ...{ retired, store, pins: this.pins, nowMs, options },
              damaged: (error) => this.logDamaged(error),
            },
          }),
    });
    this.apply = new ApplyLoop(
      {
        ...{ parts: machine, rows, ids, outcomes: hooks.outcomes, events: this.events },
        ...{ nowMs, ...timed },
        ...(parts.refuse === undefined ? {} : { refuse: parts.refuse }),
      },
      {
        applied: (entry) => hooks.applied(entry),
        room: () => this.checkpointer.room(),
        failed: (entry, error) => hooks.applyFailed(entry, error),
      },
    );
    const { appends } = machine;
    const finder = new AppendFinder({ appends, tailIndex: parts.tailIndex, view });
    this.resolver = new IdResolver(finder, ids);
    this.reader = new MessageReader({
      ...{ finder, appends, tail: this.tail, wal, pins: this.pins, cipher: parts.cipher ?? null },
      damaged: (error) => this.logDamaged(error),
    });
  }

  get appliedIndex(): LogIndex {
    return this.parts.machine.machine.appliedIndex;
  }

  commit(entries: readonly LogEntry[]): void {
    for (const entry of entries) this.tail.add(entry);
    this.apply.push(entries);
  }

  /** Bytes of the log are damaged: the group stops when its last pops are answered or handed back. */
  logDamaged(error: unknown): void {
    if (this.returns.isEnding) return;
    this.returns.end(() => this.hooks.failed(error));
    this.hooks.ending?.(error);
  }

  view(): Promise<GroupView> {
    const { machine, rows } = this.parts;
    machine.machine.flushDirtyRows();
    return rows.view(machine.machine.appliedIndex);
  }

  readMessages(partitionId: number, first: number, last: number): Promise<StoredMessage[]> {
    const place = this.placeOf(partitionId);
    if (place === undefined) return Promise.resolve([]);
    return this.reader.read(place, Math.max(first, place.logStart), last);
  }

  readRecord(place: RecordPlace): Promise<Uint8Array> {
    return this.reader.readRecord(place);
  }

  findIds(partitionId: number, hashes: Uint8Array, span: IdSpan): Promise<ResolvedIds> {
    const place = this.placeOf(partitionId);
    if (place !== undefined) return this.resolver.find(place, hashes, span);
    const nowhere = new Float64Array(Math.floor(hashes.length / 16)).fill(-1);
    return Promise.resolve({ offsets: nowhere, bases: nowhere });
  }

  /** Ends apply and checkpoints; `final` writes a last checkpoint. */
  async stop(final: boolean): Promise<void> {
    await this.maintenance.stop();
    if (final) await this.apply.drained();
    this.apply.stop();
    await this.checkpointer.stop(final);
    await this.apply.drained();
    const { ids, wal, store, log } = this.parts;
    for (const file of [ids, wal, store]) {
      try {
        await file.close();
      } catch (error) {
        log.warn('file not closed cleanly', { error: String(error) });
      }
    }
  }

  private placeOf(partitionId: number): PartitionPlace | undefined {
    const { partitions } = this.tables;
    const slot = partitions.byId(asPartitionId(partitionId));
    if (slot < 0) return undefined;
    const logStart = partitions.logStart(slot);
    return { queueId: partitions.queueId(slot), partitionId, logStart };
  }
}
