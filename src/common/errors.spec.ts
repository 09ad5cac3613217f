/**
 * The error table against the status and Retry-After columns of the spec; results and invariants.
 */
import { ERROR_TABLE, errorRule, isErrorCode, QueenError, type ErrorCode } from './errors.js';
import { invariant, InvariantViolation, unreachable } from './invariant.js';
import { err, mapOk, ok, valueOr, type Result } from './result.js';

describe('the error table', () => {
  it.each<[ErrorCode, number, number | undefined]>([
    ['bad_body', 400, undefined],
    ['bad_request', 400, undefined],
    ['queue_not_found', 400, undefined],
    ['too_large', 400, undefined],
    ['reserved_tenant', 403, undefined],
    ['no_such_route', 404, undefined],
    ['name_too_long', 413, undefined],
    ['overloaded', 429, 1],
    ['internal', 500, undefined],
    ['retry', 503, 1],
    ['no_leader', 503, 1],
    ['timeout', 503, 1],
    ['outcome_unknown', 503, 1],
    ['standby', 503, 1],
    ['raft_phase1_unsupported', 503, 1],
    ['storage_full', 507, undefined],
  ])('answers %s with %d and Retry-After %p', (code, status, retryAfterSeconds) => {
    const error = new QueenError(code);
    expect([error.status, error.retryAfterSeconds]).toEqual([status, retryAfterSeconds]);
  });

  it('gives Retry-After to every 503 and to no 403', () => {
    for (const code of Object.keys(ERROR_TABLE) as ErrorCode[]) {
      const rule = errorRule(code);
      expect(rule.text).not.toBe('');
      if (rule.status === 503) expect(rule.retryAfterSeconds).toBe(1);
      if (rule.status === 403) expect(rule.retryAfterSeconds).toBeUndefined();
    }
  });

  it('knows its codes', () => {
    expect(isErrorCode('retry')).toBe(true);
    expect(isErrorCode('toString')).toBe(false);
    expect(new QueenError('timeout').message).toBe('the request deadline elapsed');
    const error = new QueenError('retry', 'moved', { leader: '10.0.0.1:6632' });
    expect([error.message, error.fields, error.name]).toEqual([
      'moved',
      { leader: '10.0.0.1:6632' },
      'QueenError',
    ]);
  });
});

describe('results and invariants', () => {
  it('carries values and refusals', () => {
    const good: Result<number, string> = ok(1);
    const bad: Result<number, string> = err('no');
    expect(mapOk(good, (n: number) => n + 1)).toEqual({ ok: true, value: 2 });
    expect(mapOk(bad, (n: number) => n + 1)).toBe(bad);
    expect([valueOr(good, 0), valueOr(bad, 0)]).toEqual([1, 0]);
  });

  it('throws with a dump, and builds the dump only then', () => {
    const dump = jest.fn(() => ({ slot: 3 }));
    invariant(true, 'fine', dump);
    expect(dump).not.toHaveBeenCalled();
    try {
      invariant(false, 'cursor beyond the tail', dump);
    } catch (error) {
      expect(error).toBeInstanceOf(InvariantViolation);
      expect((error as InvariantViolation).dump).toEqual({ slot: 3 });
      expect((error as InvariantViolation).message).toBe('cursor beyond the tail');
    }
    expect(dump).toHaveBeenCalledTimes(1);
    expect(() => unreachable('x' as never, 'kind')).toThrow('unhandled kind');
  });
});
