/**
 * Acknowledgment bodies: both forms, what fails a row and what refuses the body, against JSON.parse.
 */
import fc from 'fast-check';
import { encodeUtf8, readUtf8 } from '../utf8.js';
import { uuidText } from '../uuid-v7.js';
import { AckScan, LEASE_UUID, PARTITION_VALID } from './ack-scan.js';
import { AckScanner } from './ack-scanner.js';

const scanner = new AckScanner();
const STATES = ['valid', 'not a number', 'unknown'];
const LEASES = ['absent', 'uuid', 'foreign'];
const STATUSES = ['completed', 'retry', 'failed', 'dlq'];
const LEASE = '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff';

function rows(scan: AckScan): Array<Record<string, unknown>> {
  const found = scan.rows;
  const text = (column: typeof found.errors, row: number): string =>
    readUtf8(scan.source(column, row), column.starts[row]!, column.ends[row]!);
  return Array.from({ length: found.count }, (_, row) => ({
    id: text(found.transactionIds, row),
    partition:
      found.partitionStates[row] === PARTITION_VALID
        ? found.partitionIds[row]
        : STATES[found.partitionStates[row]!],
    lease:
      found.leaseKinds[row] === LEASE_UUID
        ? uuidText(found.leases, row * 16)
        : LEASES[found.leaseKinds[row]!],
    status: STATUSES[found.statuses[row]!],
    error: text(found.errors, row),
  }));
}

function scanText(body: string): {
  refusal?: string;
  scan: AckScan;
  acks: Array<Record<string, unknown>>;
} {
  const scan = new AckScan();
  const refusal = scanner.scanBody(encodeUtf8(body), scan);
  if (refusal) return { refusal: `${refusal.code}: ${refusal.text}`, scan, acks: [] };
  return { scan, acks: rows(scan) };
}

const blank = {
  id: '',
  partition: 'not a number',
  lease: 'absent',
  status: 'completed',
  error: '',
};

describe('AckScanner', () => {
  it('reads the single form', () => {
    const { scan, acks } = scanText(
      `{"transactionId":"o-1","partitionId":"42","consumerGroup":"billing","leaseId":"${LEASE}","status":"Failed","error":"boom\\n"}`,
    );
    expect(scan.consumerGroup).toBe('billing');
    expect(scan.isBatch).toBe(false);
    expect(acks).toEqual([
      { id: 'o-1', partition: 42, lease: LEASE, status: 'failed', error: 'boom\n' },
    ]);
  });

  it('reads the batch form; the group only at the top', () => {
    const { scan, acks } = scanText(
      `{"transactionId":"top","consumerGroup":"g","acknowledgments":[
        {"transactionId":"a\\u0062","partitionId":"7","consumerGroup":3,"leaseId":"${LEASE.toUpperCase()}"},
        {"transactionId":"c","partitionId":"\\u0031","leaseId":"nope","status":"DLQ","error":null},{}]}`,
    );
    expect([scan.isBatch, scan.consumerGroup]).toEqual([true, 'g']);
    expect(acks).toEqual([
      { id: 'ab', partition: 7, lease: LEASE, status: 'completed', error: '' },
      { id: 'c', partition: 1, lease: 'foreign', status: 'dlq', error: '' },
      blank,
    ]);
  });

  it.each([
    ['{}', [blank]],
    ['{"acknowledgments":[]}', [blank]],
    ['{"acknowledgments":null,"transactionId":"x"}', [{ ...blank, id: 'x' }]],
    ['{"acknowledgments":3,"acknowledgments":[{"transactionId":"y"}]}', [{ ...blank, id: 'y' }]],
    [
      '{"acknowledgments":[{"partitionId":1}],"acknowledgments":[],"transactionId":"z"}',
      [{ ...blank, id: 'z' }],
    ],
    ['{"partitionId":5,"partitionId":"5"}', [{ ...blank, partition: 5 }]],
    ['{"partitionId":"9007199254740991"}', [{ ...blank, partition: 9007199254740991 }]],
    ['{"partitionId":"9007199254740992"}', [{ ...blank, partition: 'unknown' }]],
    ['{"partitionId":"18446744073709551615"}', [{ ...blank, partition: 'unknown' }]],
    ['{"partitionId":"18446744073709551616"}', [blank]],
    ['{"partitionId":"00000000000000000000000042"}', [{ ...blank, partition: 42 }]],
    ['{"partitionId":"0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff"}', [blank]],
    ['{"partitionId":"-1"}', [blank]],
    ['{"partitionId":" 1"}', [blank]],
    ['{"status":"retry","leaseId":""}', [{ ...blank, status: 'retry' }]],
    ['{"status":"done","consumerGroup":null,"leaseId":null}', [blank]],
    ['{"transactionId":"a","unknown":{"a":[1]}}', [{ ...blank, id: 'a' }]],
  ])('reads %s', (body, expected) => {
    expect(scanText(body).acks).toEqual(expected);
  });

  it.each([
    ['', 'bad_body: invalid JSON'],
    ['[{"transactionId":"a"}]', 'bad_body: the body must be a JSON object'],
    ['{"partitionId":42}', 'bad_body: partitionId must be a string'],
    [
      '{"acknowledgments":[{},{"partitionId":42}]}',
      'bad_body: acknowledgments[1].partitionId must',
    ],
    ['{"acknowledgments":{}}', 'bad_body: acknowledgments must be an array'],
    ['{"acknowledgments":["x"]}', 'bad_body: acknowledgments[0] must be an object'],
    ['{"consumerGroup":1}', 'bad_body: consumerGroup must be a string'],
    ['{"transactionId":1}', 'bad_body: transactionId must be a string'],
    ['{"leaseId":false}', 'bad_body: leaseId must be a string'],
    ['{"status":{}}', 'bad_body: status must be a string'],
    ['{"error":[]}', 'bad_body: error must be a string'],
    ['{"partitionId":3,"acknowledgments":[{}]}', 'bad_body: partitionId must be a string'],
    ['{"transactionId":"\\ud800"}', 'bad_body: transactionId'],
    ['{"transactionId":"a"', 'bad_body: invalid JSON at byte 20'],
  ])('refuses %s', (body, expected) => {
    expect(scanText(body).refusal).toContain(expected);
  });

  it('agrees with JSON.parse on random batches, and reuses one scan', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 9 }),
      fc.constantFrom('a', 'b\n'),
    );
    const ack = fc.record({
      transactionId: text,
      partitionId: fc.nat(1e9).map(String),
      leaseId: fc.constantFrom('', LEASE),
      status: fc.constantFrom('completed', 'FAILED', 'dlq', 'Retry'),
      error: text,
    });
    const scan = new AckScan();
    fc.assert(
      fc.property(fc.array(ack, { minLength: 1, maxLength: 300 }), text, (acks, group) => {
        const body = encodeUtf8(JSON.stringify({ acknowledgments: acks, consumerGroup: group }));
        expect(scanner.scanBody(body, scan)).toBeUndefined();
        expect(scan.consumerGroup).toBe(group);
        expect(rows(scan)).toEqual(
          acks.map((sent) => ({
            id: sent.transactionId,
            partition: Number(sent.partitionId),
            lease: sent.leaseId || 'absent',
            status: sent.status.toLowerCase(),
            error: sent.error,
          })),
        );
      }),
      { numRuns: 100 },
    );
  });
});
