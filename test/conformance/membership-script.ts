/**
 * Adapter between the membership scripts and src/raft/core/membership.ts: one configuration with its
 * progress is carried from directive to directive.
 */
import { logIndex, nodeId } from '../../src/common/ids.js';
import {
  EMPTY_CONFIG,
  enterJoint,
  leaveJoint,
  reconcileProgress,
  simpleChange,
  type ChangeOutcome,
  type ChangeRefusal,
  type ProgressMap,
} from '../../src/raft/core/membership.js';
import type { ConfigState, SingleChange } from '../../src/raft/core/types.js';
import { findArg, type Directive } from './datadriven.js';
import { configText, progressText } from './format-progress.js';

const ACTIONS: Readonly<Record<string, SingleChange['action']>> = {
  v: 'add-voter',
  l: 'add-learner',
  r: 'remove',
  u: 'update',
};

export const REFUSAL_TEXT: Readonly<Record<ChangeRefusal, string>> = {
  'config-is-joint': "can't apply simple config change in joint config",
  'already-joint': 'config is already joint',
  'not-joint': "can't leave a non-joint config",
  'no-voters': 'removed all voters',
  'no-voters-to-join': "can't make a zero-voter config joint",
  'more-than-one-voter': 'more than one voter changed without entering joint config',
};

/** `v1 l2 r3 u4` */
export function parseChanges(text: string): SingleChange[] {
  return text
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => {
      const action = ACTIONS[word.charAt(0)];
      if (action === undefined) throw new Error(`unknown change ${word}`);
      return { action, node: nodeId(Number(word.slice(1))) };
    });
}

export function membershipScript(): (directive: Directive) => string {
  let config: ConfigState = EMPTY_CONFIG;
  let progress: ProgressMap = new Map();
  let lastIndex = 0;
  const limits = { maxMessages: 10, maxBytes: 0 };
  return (directive) => {
    const outcome = apply(directive, config);
    const start = { lastIndex: logIndex(lastIndex), limits };
    lastIndex += 1;
    if (!outcome.ok) return REFUSAL_TEXT[outcome.refusal];
    config = outcome.config;
    progress = reconcileProgress(config, progress, start);
    const lines = [...progress].map(([id, pr]) => {
      const printable = {
        state: pr.state,
        match: pr.match,
        next: pr.next,
        isLearner: pr.isLearner,
        paused: pr.isPaused(),
        pendingSnapshot: pr.pendingSnapshot,
        recentActive: pr.recentActive,
        inflight: pr.inflights.count,
        inflightFull: pr.inflights.full(),
      };
      return `${id}: ${progressText(printable)}`;
    });
    return [configText(config), ...lines].join('\n');
  };
}

function apply(directive: Directive, config: ConfigState): ChangeOutcome {
  const changes = parseChanges(directive.input);
  switch (directive.command) {
    case 'simple':
      return simpleChange(config, changes);
    case 'enter-joint':
      return enterJoint(config, changes, findArg(directive, 'autoleave')?.values[0] === 'true');
    case 'leave-joint':
      return leaveJoint(config);
    default:
      throw new Error(`unknown command ${directive.command}`);
  }
}
