/** Names and sizes that producers, consumers and audits share. */
import type { Prng } from '../../src/common/prng.js';
import type { Target } from './client.js';
import type { Gate } from './gate.js';
import type { Ledger } from './ledger.js';

export const QUEUE = 'crash';
export const PARTITIONS = 60;
/** Completes nearly everything, and refuses and forgets a lot. */
export const GROUPS = ['steady', 'rough'] as const;
export type GroupName = (typeof GROUPS)[number];

export interface WorkerParts {
  readonly port: Target;
  readonly ledger: Ledger;
  readonly gate: Gate;
  readonly random: Prng;
  /** Producers hold still meanwhile, so that others have log segments of their own. */
  readonly isResting?: () => boolean;
}

export const between = (random: Prng, low: number, high: number): number =>
  low + random.nextBelow(high - low + 1);

export const chance = (random: Prng, percent: number): boolean => random.nextBelow(100) < percent;
