/** Options of an ephemeral queue, row by row of the table in state.md §5.5. */
import { checkOptions, effectiveOptions, parseOptions, shownOptions } from './options.js';

const limits = { queueMaxBytes: 1000, queueMaxLength: 100, leaseSeconds: 30, retryLimit: 5 };
const DEFAULTS = {
  ...{ maxBytes: 1000, maxLength: 100, policy: 'reject', ttlSeconds: 0 },
  ...{ leaseSeconds: 30, retryLimit: 5, windowBuffer: { ms: 0, count: 0 } },
};

it.each([
  [{}, {}],
  [{ maxBytes: 10 }, { maxBytes: 10 }],
  [{ maxBytes: 0 }, { maxBytes: 1 }],
  [{ maxBytes: 5000 }, { maxBytes: 1000 }],
  [{ maxLength: -3 }, { maxLength: 1 }],
  [{ maxLength: 7.9 }, { maxLength: 7 }],
  [{ maxLength: 101 }, { maxLength: 100 }],
  [{ policy: 'dropOldest' }, { policy: 'dropOldest' }],
  [{ ttlSeconds: -1 }, { ttlSeconds: 0 }],
  [{ ttlSeconds: 0.5 }, { ttlSeconds: 0.5 }],
  [{ leaseSeconds: 0 }, { leaseSeconds: 0.001 }],
  [{ leaseSeconds: 999_999 }, { leaseSeconds: 86_400 }],
  [{ retryLimit: 0 }, { retryLimit: 0 }],
  [{ retryLimit: -1 }, { retryLimit: 0 }],
  [{ retryLimit: 2000 }, { retryLimit: 1000 }],
  [{ windowBuffer: { ms: 5 } }, { windowBuffer: { ms: 5, count: 0 } }],
  [
    { windowBuffer: { ms: 99_999, count: 99_999 } },
    { windowBuffer: { ms: 60_000, count: 10_000 } },
  ],
  [{ windowBuffer: { ms: -1, count: -1 } }, {}],
  [{ maxBytes: null, windowBuffer: null }, {}],
])('%j', (sent, changed) => {
  checkOptions(sent);
  expect(shownOptions(effectiveOptions(sent, limits))).toEqual({ ...DEFAULTS, ...changed });
});

it.each([['not JSON'], ['[]'], ['7'], ['{"maxBytes":"x","policy":3,"windowBuffer":"y"}']])(
  'whatever the log holds is applied: %s',
  (text) => {
    expect(shownOptions(effectiveOptions(parseOptions(text), limits))).toEqual(DEFAULTS);
  },
);
