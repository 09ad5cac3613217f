/** Examples of the ephemeral routes in the API document. They fit together on a fresh broker. */

const message = (n: number, payload: unknown): object => ({
  id: `e:9f3c0a1b2d4e5f60:room-7:${n}`,
  partition: 'room-7',
  attempts: 1,
  payload,
});

export const PUSH_EXAMPLES = {
  'two messages of one partition': {
    value: {
      queue: 'presence',
      partition: 'room-7',
      messages: [{ payload: { user: 'ada', here: true } }, { payload: 'ping' }],
    },
  },
  'nothing to do': { value: { queue: 'presence', messages: [] } },
};

export const PUSH_ANSWERS = { stored: { pushed: 2 }, 'nothing to do': { pushed: 0 } };

export const POP_ANSWERS = {
  delivered: {
    queue: 'presence',
    messages: [message(0, { user: 'ada', here: true }), message(1, 'ping')],
  },
  empty: { queue: 'presence', messages: [] },
};

export const ACK_EXAMPLES = {
  'one settled, one comes back': {
    value: {
      queue: 'presence',
      acks: [
        { id: 'e:9f3c0a1b2d4e5f60:room-7:0' },
        { id: 'e:9f3c0a1b2d4e5f60:room-7:1', status: 'failed', error: 'later' },
      ],
    },
  },
};

export const ACK_ANSWERS = {
  settled: {
    results: [
      { id: 'e:9f3c0a1b2d4e5f60:room-7:0', outcome: 'acked' },
      { id: 'e:9f3c0a1b2d4e5f60:room-7:1', outcome: 'redelivered' },
    ],
  },
};

const OPTIONS = { maxLength: 1000, policy: 'dropOldest', ttlSeconds: 60 };

export const CONFIGURE_EXAMPLES = {
  'a small inbox': { value: { queue: 'presence', options: OPTIONS } },
  defaults: { value: { queue: 'signals' } },
};

export const CONFIGURE_ANSWERS = {
  declared: { queue: 'presence', options: OPTIONS, declared: true },
};

export const RESET_EXAMPLES = { reset: { value: { queue: 'presence' } } };
export const RESET_ANSWERS = { dropped: { queue: 'presence', dropped: 2 } };
export const DELETE_ANSWERS = {
  deleted: { queue: 'presence', deleted: true, declared: true },
  unknown: { queue: 'nobody', deleted: false, declared: false },
};

export const LIST_ANSWERS = {
  'one queue': {
    queues: [
      {
        queue: 'presence',
        tier: 'declared',
        depth: 2,
        bytes: 33,
        partitions: 1,
        groups: 1,
        drops: { bounds: 0, ttl: 0, retry: 0 },
        options: {
          maxBytes: 16_777_216,
          maxLength: 1000,
          policy: 'dropOldest',
          ttlSeconds: 60,
          leaseSeconds: 30,
          retryLimit: 5,
          windowBuffer: { ms: 0, count: 0 },
        },
      },
    ],
    count: 1,
    cellBytes: 33,
  },
};

export const DEPTH_ANSWERS = {
  'one group': {
    queue: 'presence',
    group: null,
    tier: 'declared',
    pending: 2,
    partitionsPending: 1,
    bytes: 33,
    partitions: [{ partition: 'room-7', pending: 2, bytes: 33 }],
    groups: [{ group: 'ui', pending: 2, skipped: 0 }],
  },
};
