/**
 * When a lease counts (spec §2.4). Three different bounds, all on the log clock:
 *
 *   pop     held while      now <  expiresAt (+ skew when an entry of another term granted it)
 *   ack     accepted while  now <= expiresAt
 *   extend  accepted while  now <  expiresAt
 */
import type { LeaseTable } from '../tables/tables.js';

export interface Instant {
  readonly now: number;
  readonly term: number;
}

/** Nobody else may take the partition. */
export function isHeld(
  leases: LeaseTable,
  lease: number,
  at: Instant,
  skewMicros: number,
): boolean {
  const slack = leases.term(lease) === at.term ? 0 : skewMicros;
  return at.now < leases.expiresAt(lease) + slack;
}

export function acceptsAck(leases: LeaseTable, lease: number, at: Instant): boolean {
  return at.now <= leases.expiresAt(lease);
}

export function acceptsExtend(leases: LeaseTable, lease: number, at: Instant): boolean {
  return at.now < leases.expiresAt(lease);
}

/** Adds durations without leaving the safe integers. */
export function later(now: number, durationMicros: number): number {
  return Math.min(now + durationMicros, Number.MAX_SAFE_INTEGER);
}
