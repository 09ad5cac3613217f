/**
 * A refusal in the envelope of the state plane: `{"error","reason","detail"}` (state.md §0.2), for the
 * key-value store, locks and timers. Status and Retry-After come from the error table; a client branches
 * on `error`, then on `reason`.
 */
import { errorRule } from './errors.js';
import type { ErrorCode } from './errors.js';

export interface StateRefusalFields {
  /** Stable id; absent when `error` says it all. */
  readonly reason?: string;
  /** For people. */
  readonly detail?: string;
  /** Whole seconds, instead of the table's. */
  readonly retryAfterSeconds?: number;
}

export class StateRefusal extends Error {
  override readonly name = 'StateRefusal';

  constructor(
    readonly code: ErrorCode,
    private readonly fields: StateRefusalFields = {},
    private readonly own: { readonly status?: number; readonly cause?: unknown } = {},
  ) {
    super(fields.detail ?? errorRule(code).text, own.cause === undefined ? {} : own);
  }

  get status(): number {
    return this.own.status ?? errorRule(this.code).status;
  }

  get reason(): string | undefined {
    return this.fields.reason;
  }

  get retryAfterSeconds(): number | undefined {
    return this.fields.retryAfterSeconds ?? errorRule(this.code).retryAfterSeconds;
  }

  /** The body of the answer. */
  get body(): Readonly<Record<string, string>> {
    const { reason, detail } = this.fields;
    return {
      error: this.code,
      ...(reason === undefined ? {} : { reason }),
      ...(detail === undefined ? {} : { detail }),
    };
  }
}

/** A fault nobody foresaw: the client learns no more than that; `cause` is for the log. */
export function faultOf(code: ErrorCode, cause: unknown): StateRefusal {
  return new StateRefusal(code, { reason: 'internal' }, { cause });
}
