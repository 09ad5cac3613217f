/**
 * Planted bugs of the consensus core: source patches, each with the spec that must fail when it is in.
 * The list follows docs on the raft core, section 5 (what vectors and simulator miss), and goes on
 * with the bugs behind our own rules. A surviving mutant is a missing test. Runner: run-specs.mjs.
 */
import { ELECTION_MUTANTS } from './core-mutants-election.js';
import { MEMBERSHIP_MUTANTS, TRANSFER_AND_READ_MUTANTS } from './core-mutants-membership.js';
import { REPLICATION_MUTANTS, SNAPSHOT_MUTANTS } from './core-mutants-replication.js';
import type { Mutant } from './mutant.js';

export const CORE_MUTANTS: readonly Mutant[] = [
  ...ELECTION_MUTANTS,
  ...REPLICATION_MUTANTS,
  ...SNAPSHOT_MUTANTS,
  ...MEMBERSHIP_MUTANTS,
  ...TRANSFER_AND_READ_MUTANTS,
];
