/** Variables of ephemeral queues (cluster spec §11.5, state spec §0.6). */
import { boolean, integer } from '../builders.js';
import { MIB } from './server.js';

const SECOND_MS = 1000;

export const ephemeralVariables = {
  maxBytes: integer({
    name: 'QUEEN_EPHEMERAL_MAX_BYTES',
    fallback: 256 * MIB,
    min: 1,
    unit: 'bytes',
    doc: 'Ceiling of the node; 503 above.',
  }),
  queueMaxBytes: integer({
    name: 'QUEEN_EPHEMERAL_QUEUE_MAX_BYTES',
    fallback: 16 * MIB,
    min: 1,
    unit: 'bytes',
    doc: 'Default and ceiling of the bytes of a queue.',
  }),
  queueMaxLength: integer({
    name: 'QUEEN_EPHEMERAL_QUEUE_MAX_LENGTH',
    fallback: 10_000,
    min: 1,
    unit: 'messages',
    doc: 'Default and ceiling of the length of a queue.',
  }),
  leaseSeconds: integer({
    name: 'QUEEN_EPHEMERAL_LEASE_S',
    fallback: 30,
    min: 1,
    max: 86_400,
    unit: 's',
    doc: 'Default lease.',
  }),
  retryLimit: integer({
    name: 'QUEEN_EPHEMERAL_RETRY_LIMIT',
    fallback: 5,
    min: 1,
    max: 1000,
    unit: 'attempts',
    doc: 'Default number of delivery attempts.',
  }),
  implicitIdleMs: integer({
    name: 'QUEEN_EPHEMERAL_IMPLICIT_IDLE_S',
    fallback: 300,
    unit: 's',
    scale: SECOND_MS,
    doc: 'An undeclared queue is collected after this idle time. 0 never.',
  }),
  requireGrant: boolean({
    name: 'QUEEN_EPHEMERAL_REQUIRE_GRANT',
    fallback: null,
    fallbackText: 'value of QUEEN_TENANCY_HEADER',
    doc: 'Ephemeral queues need a grant of the tenant.',
  }),
  rate: integer({
    name: 'QUEEN_EPHEMERAL_RATE',
    fallback: 5000,
    min: 1,
    unit: 'messages/s',
    doc: 'Messages pushed per tenant and node.',
  }),
  burst: integer({
    name: 'QUEEN_EPHEMERAL_BURST',
    fallback: 10_000,
    min: 1,
    unit: 'messages',
    doc: 'Burst of pushed messages.',
  }),
  memberTtlMs: integer({
    name: 'QUEEN_EPHEMERAL_MEMBER_TTL_MS',
    fallback: 4000,
    min: 200,
    unit: 'ms',
    doc: 'Silence after which a member’s partitions are placed elsewhere.',
  }),
};
