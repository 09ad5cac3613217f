/** Heartbeats of the leader: they keep followers, carry commit progress and number read rounds. */
import { logIndex } from '../../common/ids.js';
import { send, type CoreState } from './state.js';

export function broadcastHeartbeat(state: CoreState): void {
  const readRound = state.reads.openRound;
  for (const [id, progress] of state.progress) {
    if (id === state.id) continue;
    // The member may lack, or hold other, entries above its match: it must not commit those.
    const commit = logIndex(Math.min(progress.match, state.log.committed));
    send(state, { kind: 'heartbeat', from: state.id, to: id, term: state.term, commit, readRound });
    progress.noteSentCommit(commit);
  }
}
