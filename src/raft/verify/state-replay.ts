/**
 * The state that a scratch directory loads and replays: nothing leads, nothing is appended. A single node
 * applies all of its log; a member only what it knows to be committed, the rest is its leader's to judge.
 */
import { join } from 'node:path';
import { systemClock } from '../../config/index.js';
import { logIndex } from '../../common/ids.js';
import { Overlay, Store, StoreDamageError, STORE_DIRECTORY } from '../../storage/index.js';
import type { GroupLog, LogEntry, WalPort } from '../group/ports.js';
import { loadColumns, replayLog } from '../group/recovery.js';
import { readMembers } from '../group/cluster/members.js';
import { StateSide } from '../group/state-side.js';
import {
  LOCAL,
  openGroupFiles,
  silentLog,
  unwind,
  type GroupFiles,
  type Undo,
} from '../group-files.js';
import { CheckpointStore } from '../row-ports.js';
import type { DirectoryIdentity, StoredEntry } from '../wal/index.js';
import type { Findings } from './finding.js';
import { readPointedAt, type ReadCounts } from './log-reads.js';
import { scanTables } from './table-scan.js';

const TAIL_BYTES = 1024 * 1024;
const MIB = 1024 * 1024;
const APPLY_CURE =
  'Verify with the release that wrote it; if that fails too, it is a fault of the broker and no damage ' +
  'of a file: docs/damage.md tells the way past such an entry.';

export interface Moment {
  readonly index: number;
  readonly term: number;
  readonly digest: string;
}

export interface ReplayedState extends ReadCounts {
  readonly rows: number;
  /** Null where the state could not be made. */
  readonly end: Moment | null;
  /** After the entry that was asked for; null when the replay did not come by. */
  readonly at: Moment | null;
  /** Entries behind `end` that this member does not know to be committed. */
  readonly uncommitted: number;
}

export interface StateOptions {
  readonly directory: string;
  readonly identity: DirectoryIdentity;
  /** As the log tells it; a member applies no further. */
  readonly commit: number;
  /** Index to tell the digest of. */
  readonly at: number | null;
  readonly findings: Findings;
  /** Nothing of what a start would warn of is told: a restored state warns of what is always so. */
  readonly quiet?: boolean;
}

const NOTHING = {
  ...{ rows: 0, end: null, at: null, uncommitted: 0 },
  ...{ messages: 0, deadLetters: 0, timers: 0 },
};

/** Rows of the store alone, where there is no log to replay. */
export async function scanStore(directory: string, findings: Findings): Promise<ReplayedState> {
  const store = await findings.during(() => Store.open({ directory }));
  if (store === null) return NOTHING;
  const rows = new CheckpointStore(store, new Overlay({ maxBytes: MIB }), {
    intervalMs: 1000,
    maxBytes: MIB,
  });
  try {
    return { ...NOTHING, rows: await scanTables(rows, directory, findings) };
  } finally {
    await store.close();
  }
}

export async function replayState(options: StateOptions): Promise<ReplayedState> {
  const { directory, identity, findings } = options;
  const undo: Undo = [];
  const log = options.quiet === true ? silentLog : notesOf(findings);
  const { clusterId, nodeId } = identity;
  const adoptLocal = !isLocal(clusterId);
  const files = await findings.during(() =>
    openGroupFiles({ directory, nodeId, clusterId, adoptLocal, diskGate: null, log }, undo),
  );
  if (files === null) {
    await unwind(undo);
    return NOTHING;
  }
  const rows = await scanTables(files.store, directory, findings);
  const state = new Replay(options, files, log);
  try {
    const replayed = await findings.during(() => state.run());
    return { ...NOTHING, ...replayed, rows };
  } finally {
    await state.close();
  }
}

class Replay {
  private failure: { readonly error: unknown } | null = null;
  private at: Moment | null = null;
  private readonly state: StateSide;

  constructor(
    private readonly options: StateOptions,
    private readonly files: GroupFiles,
    private readonly log: GroupLog,
  ) {
    const { store, ids, walLog: wal, rows, tailIndex, pins, machine } = files;
    const failed = (error: unknown): void => {
      this.failure ??= { error };
    };
    files.damaged.report = failed;
    this.state = new StateSide(
      {
        ...{ clock: systemClock, log, wal, store, rows, ids, machine, tailIndex, pins },
        tailCacheBytes: TAIL_BYTES,
      },
      {
        outcomes: { outcome: () => undefined },
        nowMicros: () => machine.machine.lastStamp(),
        applied: (entry) => {
          if (entry.index === options.at) this.at = this.moment();
        },
        isGranting: () => false,
        applyFailed: (entry, error) => failed(atEntry(entry, error)),
        failed,
      },
    );
  }

  async run(): Promise<Omit<ReplayedState, 'rows'>> {
    const { store, machine, ids, walLog } = this.files;
    const { at } = this.options;
    await loadColumns({ store, machine, ids, wal: walLog, log: this.log });
    this.checkDigest();
    if (this.state.appliedIndex === at) this.at = this.moment();
    const until = await this.until();
    this.state.checkpointer.start();
    const { apply, tail } = this.state;
    await replayLog({ wal: upTo(this.files, until), apply, tail, log: this.log });
    // The last page may have failed after the replay looked.
    await apply.drained();
    if (this.failure !== null) throw this.failure.error;
    const counts = await this.reads();
    const uncommitted = walLog.lastIndex - until;
    return { ...counts, end: this.moment(), at: this.at, uncommitted };
  }

  /** The rows and the record of their checkpoint tell one digest. */
  private checkDigest(): void {
    const { meta } = this.files.store;
    const loaded = this.moment().digest;
    const recorded = meta === undefined ? loaded : Buffer.from(meta.digest).toString('hex');
    if (recorded === loaded) return;
    const reason = `the rows are of digest ${loaded}, their checkpoint of ${recorded}`;
    this.options.findings.damaged(
      new StoreDamageError({ file: join(this.options.directory, STORE_DIRECTORY), reason }),
    );
  }

  close(): Promise<void> {
    return this.state.stop(false);
  }

  private async until(): Promise<number> {
    const { identity, commit } = this.options;
    const { store, machine, walLog } = this.files;
    const isMember = (await readMembers(store, machine.membersRange)) !== null;
    if (!isMember && isLocal(identity.clusterId)) return walLog.lastIndex;
    return Math.min(walLog.lastIndex, Math.max(commit, store.durableIndex));
  }

  private async reads(): Promise<ReadCounts> {
    const { walLog: wal, machine } = this.files;
    const { directory, findings } = this.options;
    const view = await this.state.view();
    try {
      const { tables } = machine;
      return await readPointedAt({
        ...{ view, wal, tables, findings },
        ...{ directory: join(directory, 'wal'), store: join(directory, STORE_DIRECTORY) },
      });
    } finally {
      await view.close();
    }
  }

  private moment(): Moment {
    const { machine } = this.files.machine;
    const digest = Buffer.from(machine.digest()).toString('hex');
    return { index: machine.appliedIndex, term: machine.appliedTerm, digest };
  }
}

function isLocal(clusterId: string): boolean {
  return clusterId === LOCAL || clusterId.startsWith(`${LOCAL}/`);
}

type Reading = Pick<WalPort, 'lastIndex' | 'read'>;

/** The log up to an index, as members apply it: blank and membership entries hold no commands. */
function upTo({ wal }: GroupFiles, until: number): Reading {
  return {
    lastIndex: logIndex(until),
    read: async (from, maxBytes) => {
      const entries = await wal.readEntries(from, maxBytes);
      return entries.filter(({ index }) => index <= until).map(toApply);
    },
  };
}

function toApply({ index, term, kind, payload }: StoredEntry): LogEntry {
  const parts = kind === 'normal' && payload.length > 0 ? [payload] : [];
  return { index, term, parts, sizeBytes: payload.length, commandCount: -1 };
}

function atEntry(entry: LogEntry, error: unknown): unknown {
  if (!(error instanceof Error) || 'file' in error) return error;
  return new Error(`entry ${entry.index} cannot be applied: ${error.message}. ${APPLY_CURE}`);
}

/** What a start would warn of. */
function notesOf(findings: Findings): GroupLog {
  const note = (event: string, fields?: object): void => {
    findings.noted([event, ...pairsOf(fields)].join(' '));
  };
  return { info: () => undefined, warn: note, error: note };
}

function pairsOf(fields: object | undefined): string[] {
  return Object.entries(fields ?? {}).map(([name, value]) => `${name}=${String(value)}`);
}
