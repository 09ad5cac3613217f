/** Whatever the sizes of the parts, the pieces are the records, byte for byte, with good checksums. */
import { Prng } from '../../common/prng.js';
import { BatchEncoder } from './batch-encoder.js';
import {
  bodyChecksum,
  decodeRecordHeader,
  RECORD_HEADER_BYTES,
  RecordKind,
  recordSeed,
  type RecordHeader,
} from './record.js';

const SALT = 0xdeadbeef;
const POSITION = 12_345;

function randomParts(random: Prng): Buffer[] {
  const sizes = [0, 1, 100, 4095, 4096, 4097, 60_000, 262_144, 300_000];
  const count = random.nextBelow(6);
  return Array.from({ length: count }, () => {
    const seed = Buffer.alloc(61);
    random.fill(seed);
    return Buffer.alloc(sizes[random.nextBelow(sizes.length)] as number, seed);
  });
}

describe('BatchEncoder', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('encodes records of any shape (seed %i)', (seed) => {
    const random = new Prng(seed);
    const encoder = new BatchEncoder();
    for (let round = 0; round < 5; round += 1) {
      const records = 1 + random.nextBelow(40);
      const payloads: Buffer[] = [];
      encoder.start({ salt: SALT, position: POSITION, batch: 9, records, chain: 1 });
      for (let i = 0; i < records; i += 1) {
        const parts = randomParts(random);
        payloads.push(Buffer.concat(parts));
        encoder.add(RecordKind.normal, 2 ** 40, i, parts);
      }
      const bytes = Buffer.concat(encoder.finish());
      expect(encoder.end).toBe(POSITION + bytes.length);
      let at = 0;
      payloads.forEach((payload, i) => {
        const header = decodeRecordHeader(bytes, at) as RecordHeader;
        expect(header).toMatchObject({ kind: RecordKind.normal, batch: 9, term: 2 ** 40 });
        expect([header.index, header.batchEnd]).toEqual([i, i === records - 1]);
        expect(encoder.payloadBytesOf(i)).toBe(payload.length);
        const end = at + RECORD_HEADER_BYTES + payload.length;
        const record = bytes.subarray(at, end);
        expect(record.subarray(RECORD_HEADER_BYTES).equals(payload)).toBe(true);
        expect(header.crc).toBe(bodyChecksum(record, recordSeed(SALT, POSITION + at)));
        at = end;
      });
      expect(at).toBe(bytes.length);
    }
  });

  it('hands small parts to the kernel in one piece and large ones uncopied', () => {
    const encoder = new BatchEncoder();
    const large = Buffer.alloc(100_000);
    encoder.start({ salt: 0, position: 0, batch: 1, records: 2, chain: 0 });
    encoder.add(RecordKind.normal, 1, 1, [Buffer.alloc(10), large, Buffer.alloc(10)]);
    encoder.add(RecordKind.normal, 1, 2, [Buffer.alloc(10), Buffer.alloc(10)]);
    const pieces = encoder.finish();
    expect(pieces).toHaveLength(3);
    expect(pieces[1]).toBe(large);
  });

  it('refuses to finish early', () => {
    const encoder = new BatchEncoder();
    encoder.start({ salt: 0, position: 0, batch: 1, records: 2, chain: 0 });
    encoder.add(RecordKind.empty, 1, 1, []);
    expect(() => encoder.finish()).toThrow('not complete');
  });
});
