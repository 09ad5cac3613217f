/**
 * The state that loading and replaying make of a single node's data directory: nothing leads, nothing is
 * appended. The digest is told for the end of the log, and for an index on the way.
 */
import { systemClock } from '../../src/config/index.js';
import { loadColumns, replayLog } from '../../src/raft/group/recovery.js';
import { StateSide } from '../../src/raft/group/state-side.js';
import { openGroupFiles, silentLog, type Undo } from '../../src/raft/group-files.js';

const TAIL_BYTES = 1024 * 1024;

export interface ReplayedState {
  readonly index: number;
  readonly digest: string;
  /** After the entry that was asked for; null when the replay did not come by. */
  readonly digestAt: string | null;
}

export async function replayedState(directory: string, at = 0): Promise<ReplayedState> {
  const undo: Undo = [];
  const files = await openGroupFiles({ directory, nodeId: 1, diskGate: null }, undo);
  const { machine, store, ids, walLog: wal, rows, tailIndex, pins } = files;
  const digest = (): string => Buffer.from(machine.machine.digest()).toString('hex');
  let digestAt: string | null = null;
  const throwIt = (error: unknown): void => {
    throw error;
  };
  const state = new StateSide(
    {
      ...{ clock: systemClock, log: silentLog, wal, store, rows, ids, machine, tailIndex, pins },
      tailCacheBytes: TAIL_BYTES,
    },
    {
      outcomes: { outcome: () => undefined },
      nowMicros: () => machine.machine.lastStamp(),
      applied: (entry) => {
        if (entry.index === at) digestAt = digest();
      },
      isGranting: () => false,
      applyFailed: (_, error) => throwIt(error),
      failed: throwIt,
    },
  );
  try {
    await loadColumns({ store, machine, ids, wal, log: silentLog });
    state.checkpointer.start();
    await replayLog({ wal, apply: state.apply, tail: state.tail, log: silentLog });
    return { index: machine.machine.appliedIndex, digest: digest(), digestAt };
  } finally {
    await state.stop(false);
  }
}
