/**
 * THE error table: every code a client can see, with its HTTP status, its Retry-After and its default
 * text (spec messages.md §14.2, cluster.md §1.9, state.md §1.5, §2.7, §5). Nothing else in the code
 * base maps a code to a status. `retryAfterSeconds` is the least value; `overloaded` and
 * `rate_limited` are computed by whoever refuses.
 */

export interface ErrorRule {
  readonly status: number;
  readonly retryAfterSeconds?: number;
  readonly text: string;
}

export const ERROR_TABLE = {
  // The request is wrong; repeating it cannot help.
  bad_body: { status: 400, text: 'the request body is not valid' },
  bad_request: { status: 400, text: 'the request is not valid' },
  queue_not_found: { status: 400, text: 'queue not found' },
  too_large: { status: 400, text: 'the command is larger than one entry may be' },
  unauthorized: { status: 401, text: 'Missing or invalid token' },
  forbidden: { status: 403, text: 'Insufficient permissions' },
  reserved_tenant: { status: 403, text: 'this tenant is reserved for the broker' },
  no_such_route: { status: 404, text: 'not found' },
  method_not_allowed: { status: 405, text: 'method not allowed' },
  name_too_long: { status: 413, text: 'a name is too long' },
  payload_too_large: { status: 413, text: 'the payload is too large' },

  // Pressure: nothing was applied, later it works.
  overloaded: { status: 429, retryAfterSeconds: 1, text: 'the broker is overloaded, retry later' },
  storage_full: { status: 507, text: 'the disk of this node is too full for growing writes' },

  // The cluster: a write may have been applied, except for `standby`.
  retry: { status: 503, retryAfterSeconds: 1, text: 'the leader could not be reached, retry' },
  no_leader: { status: 503, retryAfterSeconds: 1, text: 'no leader is known' },
  timeout: { status: 503, retryAfterSeconds: 1, text: 'the request deadline elapsed' },
  outcome_unknown: {
    status: 503,
    retryAfterSeconds: 1,
    text: 'the outcome is unknown, send the same acknowledgement again',
  },
  standby: { status: 503, retryAfterSeconds: 1, text: 'this cluster is a standby' },
  raft_phase1_unsupported: {
    status: 503,
    retryAfterSeconds: 1,
    text: 'this call is not served here',
  },
  internal: { status: 500, text: 'internal error' },

  // KV, locks and timers (envelope `error`, `reason`, `detail`).
  kv_bad_request: { status: 400, text: 'the key-value request is not valid' },
  kv_quota_exceeded: { status: 403, text: 'the key-value quota is used up' },
  feature_gated: { status: 403, text: 'this feature is not granted to the tenant' },
  kv_key_too_large: { status: 413, text: 'the key is too large' },
  kv_value_too_large: { status: 413, text: 'the value is too large' },
  rate_limited: { status: 429, retryAfterSeconds: 1, text: 'too many calls' },
  kv_error: { status: 500, text: 'key-value fault' },
  kv_unavailable: { status: 503, retryAfterSeconds: 1, text: 'key-value store unavailable' },
  kv_disabled: { status: 503, retryAfterSeconds: 1, text: 'key-value store switched off' },
  kv_check_needs_cluster_version_5: {
    status: 503,
    retryAfterSeconds: 1,
    text: 'check needs cluster version 5',
  },
  locks_bad_request: { status: 400, text: 'the lock request is not valid' },
  timers_bad_request: { status: 400, text: 'the timer request is not valid' },
  timers_server_owned_field: { status: 400, text: 'a timer field is owned by the server' },
  timer_horizon_exceeded: { status: 403, text: 'the timer lies beyond the horizon' },
  timers_quota_exceeded: { status: 403, text: 'the timer quota is used up' },
  timers_error: { status: 500, text: 'timer fault' },
  timers_unavailable: { status: 503, retryAfterSeconds: 1, text: 'timers unavailable' },
  timers_disabled: { status: 503, retryAfterSeconds: 1, text: 'timers switched off' },

  // Ephemeral queues (envelope `error`, `code`).
  ephemeral_bad_request: { status: 400, text: 'the ephemeral request is not valid' },
  ephemeral_quota_exceeded: { status: 403, text: 'the ephemeral quota is used up' },
  ephemeral_queue_not_found: { status: 404, text: 'ephemeral queue not found' },
  queue_full: { status: 429, text: 'the ephemeral queue is full' },
  ephemeral_unavailable: { status: 503, retryAfterSeconds: 1, text: 'ephemeral store is full' },
  ephemeral_disabled: { status: 503, retryAfterSeconds: 1, text: 'ephemeral queues switched off' },
  ephemeral_forward_failed: { status: 503, retryAfterSeconds: 1, text: 'the relay failed' },
  internal_only: { status: 403, text: 'nodes talk to each other over the raft port only' },
  owner_moved: { status: 503, retryAfterSeconds: 1, text: 'the partition moved to another node' },
} as const satisfies Readonly<Record<string, ErrorRule>>;

export type ErrorCode = keyof typeof ERROR_TABLE;

/** Extra fields of the answer's body, e.g. `leader` on `retry`. Values must be JSON-friendly. */
export type ErrorFields = Readonly<Record<string, unknown>>;

const NO_FIELDS: ErrorFields = Object.freeze({});

export function errorRule(code: ErrorCode): ErrorRule {
  return ERROR_TABLE[code];
}

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_TABLE, code);
}

/**
 * The one operational error: something a client is told about, with a code of the table. It is not
 * used for broken invariants (InvariantViolation) nor for verdicts (values).
 */
export class QueenError extends Error {
  override readonly name = 'QueenError';
  readonly fields: ErrorFields;

  constructor(
    readonly code: ErrorCode,
    message: string = ERROR_TABLE[code].text,
    fields: ErrorFields = NO_FIELDS,
  ) {
    super(message);
    this.fields = fields;
  }

  get status(): number {
    return errorRule(this.code).status;
  }

  get retryAfterSeconds(): number | undefined {
    return errorRule(this.code).retryAfterSeconds;
  }
}
