/** Text of configurations and progress as the scripts print them. Test side only. */
import type { NodeId } from '../../src/common/ids.js';
import type { ConfigState } from '../../src/raft/core/types.js';

/** What the text needs of a progress; both the live object and its traced copy fit. */
export interface PrintableProgress {
  readonly state: 'probe' | 'replicate' | 'snapshot';
  readonly match: number;
  readonly next: number;
  readonly isLearner: boolean;
  readonly paused: boolean;
  readonly pendingSnapshot: number;
  readonly recentActive: boolean;
  readonly inflight: number;
  readonly inflightFull: boolean;
}

const STATE_TEXT = {
  probe: 'StateProbe',
  replicate: 'StateReplicate',
  snapshot: 'StateSnapshot',
} as const;

export function hex(id: number): string {
  return id.toString(16);
}

export function configText(config: ConfigState): string {
  const list = (ids: readonly NodeId[]): string => `(${ids.map(hex).join(' ')})`;
  let text = `voters=${list(config.voters)}`;
  if (config.outgoing.length > 0) text += `&&${list(config.outgoing)}`;
  if (config.learners.length > 0) text += ` learners=${list(config.learners)}`;
  if (config.learnersNext.length > 0) text += ` learners_next=${list(config.learnersNext)}`;
  if (config.autoLeave) text += ' autoleave';
  return text;
}

export function progressText(progress: PrintableProgress): string {
  let text = `${STATE_TEXT[progress.state]} match=${progress.match} next=${progress.next}`;
  if (progress.isLearner) text += ' learner';
  if (progress.paused) text += ' paused';
  if (progress.pendingSnapshot > 0) text += ` pendingSnap=${progress.pendingSnapshot}`;
  if (!progress.recentActive) text += ' inactive';
  if (progress.inflight > 0) text += ` inflight=${progress.inflight}`;
  if (progress.inflightFull) text += '[full]';
  return text;
}
