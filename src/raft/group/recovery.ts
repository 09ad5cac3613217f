/**
 * From files to state: the checks that refuse to serve less than was promised, the columns from the
 * store page by page, then the log from the checkpoint on through the same apply path as live entries.
 */
import {
  logIndex,
  micros,
  offset as asOffset,
  partitionId as asPartitionId,
  type LogIndex,
} from '../../common/ids.js';
import type { ApplyLoop } from './apply-loop.js';
import type { GroupLog, IdIndexDriver, MachineParts, StorePort, WalPort } from './ports.js';
import type { TailCache } from './tail-cache.js';

const REPLAY_READ_BYTES = 8 * 1024 * 1024;
const CURE =
  'In a cluster replace this node: remove the member, empty its data directory and let it join ' +
  'again. On a single node restore a backup.';

/** The files of this directory contradict each other; the message names them and the cure. */
export class RecoveryRefusal extends Error {
  override readonly name = 'RecoveryRefusal';
}

export interface LoadParts {
  readonly store: StorePort;
  readonly machine: MachineParts;
  readonly ids: IdIndexDriver;
  readonly wal: WalPort;
  readonly log: GroupLog;
}

/** Rebuilds the columns as of the last checkpoint. Rejects with RecoveryRefusal. */
export async function loadColumns(parts: LoadParts): Promise<void> {
  const { store, machine, wal } = parts;
  const meta = store.meta;
  checkAgainstLog(meta?.appliedIndex ?? logIndex(0), meta !== undefined, wal);
  if (meta === undefined) return;
  machine.machine.loadHeader(meta.header);
  for (const range of machine.columnRanges) {
    for await (const page of store.pages(range)) {
      for (const [key, value] of page) machine.machine.loadRow(key, value);
    }
  }
  machine.machine.finishLoad();
  await loadIdJournal(parts);
  if (parts.ids.needsRebuild) await rebuildIds(parts);
  await store.remap();
}

async function loadIdJournal({ store, ids }: LoadParts): Promise<void> {
  for await (const page of store.pages(ids.journalRange)) {
    for (const [key, value] of page) ids.loadJournalRow(key, value);
  }
}

/** Adds the ids of every append inside the window; what the index still has stays. */
async function rebuildIds({ store, ids, machine, log }: LoadParts): Promise<void> {
  const { appends } = machine;
  const oldest = machine.machine.lastStamp() - machine.recognitionWindowMicros();
  let count = 0;
  for await (const page of store.pages(machine.appendRange)) {
    ids.beginEntry();
    for (const [key, value] of page) {
      const partition = asPartitionId(appends.partitionOf(key));
      const row = appends.decode(appends.baseOf(key), value);
      if (row.createdAt < oldest) continue;
      const baseOffset = asOffset(row.baseOffset);
      for (let item = 0; item < row.count; item += 1) {
        if (!row.isClientId(item)) continue;
        const createdAt = micros(row.createdAt);
        const place = { offset: asOffset(row.baseOffset + item), baseOffset, createdAt };
        ids.add(partition, row.hashPlace(item), place);
        count += 1;
      }
    }
    await ids.load();
  }
  log.warn('id index was incomplete and is rebuilt', { ids: count });
}

function checkAgainstLog(durable: LogIndex, hasMeta: boolean, wal: WalPort): void {
  if (!hasMeta && wal.firstIndex > 1) {
    throw new RecoveryRefusal(
      `Cannot re-apply logs: the store holds no checkpoint and the raft log was purged up to ` +
        `index ${wal.firstIndex - 1}. ${CURE}`,
    );
  }
  if (wal.lastIndex < durable) {
    throw new RecoveryRefusal(
      `acknowledged records are missing: the raft log ends at index ${wal.lastIndex}, the store ` +
        `was written up to ${durable}; entry ${wal.lastIndex + 1} is lost. ${CURE}`,
    );
  }
  if (wal.firstIndex > durable + 1) {
    throw new RecoveryRefusal(
      `Cannot re-apply logs: the store ends at index ${durable}, the raft log begins at ` +
        `${wal.firstIndex}; it was purged up to index ${wal.firstIndex - 1}. ${CURE}`,
    );
  }
}

export interface ReplayParts {
  readonly wal: Pick<WalPort, 'lastIndex' | 'read'>;
  readonly apply: ApplyLoop;
  readonly tail: TailCache;
  readonly log: GroupLog;
}

/** Applies what the log holds after the checkpoint. On a single voter all of it is committed. */
export async function replayLog({ wal, apply, tail, log }: ReplayParts): Promise<void> {
  const first = apply.appliedIndex + 1;
  let next = first;
  while (next <= wal.lastIndex) {
    const entries = await wal.read(logIndex(next), REPLAY_READ_BYTES);
    if (entries.length === 0) throw new RecoveryRefusal(`entry ${next} cannot be read. ${CURE}`);
    for (const entry of entries) tail.add(entry);
    apply.push(entries);
    await apply.drained();
    if (apply.appliedIndex < next + entries.length - 1) return;
    next += entries.length;
  }
  if (next > first) log.info('raft log replayed', { from: first, to: next - 1 });
}
