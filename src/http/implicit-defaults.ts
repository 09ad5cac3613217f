/**
 * Options of queues that spring into being (messages.md §3, column "created implicitly"). They travel
 * in the command, because code defaults may differ between the nodes of a rolling upgrade.
 */
import type { ImplicitDefaults } from '../machine/commands/catalogue.js';

const DEFAULTS: ImplicitDefaults = { leaseTime: 60, retryLimit: 3, dedupWindowSeconds: 3600 };

export function implicitDefaults(): ImplicitDefaults {
  return DEFAULTS;
}
