/** Requests and answers of transactions for the API document; each runs on a broker with the push example. */
const ID = '0199c0de-3333-7444-8555-66667777888';

export const TRANSACTION_EXAMPLES = {
  'pushes and a position': {
    value: {
      operations: [
        {
          type: 'push',
          items: [
            { queue: 'orders', partition: 'customer-9', transactionId: 'order-3', payload: {} },
            { queue: 'orders', partition: 'customer-9', transactionId: 'order-3', payload: {} },
          ],
        },
        { type: 'push', queue: 'invoices', payload: { order: 'order-3' } },
      ],
      positions: [{ queue: 'orders', consumerGroup: 'reader', partition: 'customer-9', offset: 1 }],
    },
  },
  'acknowledge and hand on': {
    value: {
      operations: [
        {
          type: 'ack',
          transactionId: 'order-1',
          partitionId: '1',
          consumerGroup: 'billing',
          leaseId: '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff',
          status: 'completed',
        },
        { type: 'push', queue: 'invoices', transactionId: 'invoice-1', payload: { order: 1 } },
      ],
    },
  },
};

const push = (index: number, transactionId: string, queueName: string): object => ({
  index,
  type: 'push',
  success: true,
  transactionId,
  messageId: `${ID}${index}`,
  queueName,
});

export const TRANSACTION_ANSWERS = {
  committed: {
    transactionId: `${ID}9`,
    success: true,
    results: [
      {
        index: 0,
        type: 'ack',
        success: true,
        transactionId: 'order-1',
        error: null,
        dlq: false,
      },
      push(1, 'order-3', 'orders'),
      { ...push(2, 'order-3', 'orders'), duplicate: true },
      { index: 3, type: 'position', opIndex: 0, success: true },
    ],
  },
  'rolled back': {
    transactionId: `${ID}9`,
    success: false,
    reason: 'duplicate',
    error: 'QDUP orders/customer-9: the message is stored already at offset 2',
    results: [],
  },
};

export const BAD_TRANSACTIONS = {
  'unknown operation': {
    transactionId: `${ID}9`,
    success: false,
    reason: 'bad_request',
    error: 'operations[0]: type must be push or ack',
    results: [],
  },
};
