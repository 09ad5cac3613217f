/**
 * Swarm testing: every run draws its own mix of faults and limits. Uniform weights hide bugs that need
 * an unusual mix, and tiny limits find what generous ones cannot (figure 8 needs small appends).
 */
import type { CoreOptions } from '../../../src/raft/core/options.js';
import type { Prng } from './prng.js';

export interface Swarm {
  readonly core: Omit<CoreOptions, 'id' | 'log' | 'random' | 'applied'>;
  /** Rule D1 kept by the driver. */
  readonly holdBallots: boolean;
  readonly steps: number;
  /** The bag hands out the oldest message instead of a random one. */
  readonly inOrder: boolean;
  readonly weights: Readonly<Record<Action, number>>;
}

export type Action =
  | 'deliver'
  | 'drop'
  | 'duplicate'
  | 'ready'
  | 'append'
  | 'apply'
  | 'tick'
  | 'propose'
  | 'change'
  | 'transfer'
  | 'read'
  | 'crash'
  | 'restart'
  | 'checkpoint'
  | 'partition'
  | 'heal'
  | 'unreachable'
  | 'forget';

export const ACTIONS: readonly Action[] = [
  'deliver',
  'drop',
  'duplicate',
  'ready',
  'append',
  'apply',
  'tick',
  'propose',
  'change',
  'transfer',
  'read',
  'crash',
  'restart',
  'checkpoint',
  'partition',
  'heal',
  'unreachable',
  'forget',
];

export function drawSwarm(random: Prng): Swarm {
  const asyncStorage = random.chance(0.6);
  const drop = random.pick([0, 2, 10]);
  const crash = random.pick([0, 0.2, 1, 5]);
  const entryBytes = 30;
  return {
    core: {
      // Short timeouts let whole elections happen while a partition lasts.
      electionTicks: random.pick([3, 6, 10]),
      heartbeatTicks: 1,
      asyncStorage,
      preVote: random.chance(0.5),
      checkQuorum: random.chance(0.5),
      forwardProposals: random.chance(0.5),
      // Off, a removed leader keeps leading and takes no proposals: the group may stall by design.
      stepDownOnRemoval: true,
      maxInflightMessages: random.pick([1, 2, 4, 64]),
      maxInflightBytes: random.pick([0, 0, 6, 40]),
      maxAppendBytes: random.pick([1, 2 * entryBytes, 1_000_000]),
      maxApplyingBytes: random.pick([1, 3 * entryBytes, 1_000_000]),
      maxUncommittedBytes: random.pick([60, 1_000_000]),
      maxPendingReads: random.pick([2, 100]),
    },
    holdBallots: true,
    steps: random.pick([500, 1000, 2000, 4000]),
    inOrder: random.chance(0.4),
    weights: {
      deliver: 100,
      drop,
      duplicate: random.pick([0, 3, 10]),
      ready: random.pick([40, 80]),
      append: random.pick([3, 10, 60]),
      apply: random.pick([5, 40]),
      tick: random.pick([10, 25, 60]),
      propose: random.pick([4, 15]),
      change: random.pick([0, 0.5, 2]),
      transfer: random.pick([0, 0.5]),
      read: random.pick([0, 3]),
      crash,
      restart: random.pick([3, 10]),
      checkpoint: random.pick([0, 1, 5]),
      partition: random.pick([0, 0.5, 1.5]),
      heal: random.pick([0.1, 0.3, 1]),
      unreachable: random.pick([0, 1]),
      forget: random.pick([0, 0.3]),
    },
  };
}
