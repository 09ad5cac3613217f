/**
 * The answer writer against JSON.stringify, and one answer as a whole.
 */
import fc from 'fast-check';
import { encodeUtf8, readUtf8 } from '../utf8.js';
import { parseUuid } from '../uuid-v7.js';
import { JsonWriter } from './json-writer.js';

function written(write: (writer: JsonWriter) => void): string {
  const writer = new JsonWriter(1);
  write(writer);
  return Buffer.from(writer.toBytes()).toString();
}

describe('JsonWriter', () => {
  it('writes strings as JSON.stringify does, lone surrogates and slice edges included', () => {
    const unit = fc.oneof(fc.nat(0x7f), fc.integer({ min: 0xd7f0, max: 0xe010 }), fc.nat(0xffff));
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 60 }), fc.constantFrom(0, 4090), (units, before) => {
        const text = 'x'.repeat(before) + String.fromCharCode(...units);
        expect(written((writer) => writer.string(text))).toBe(JSON.stringify(text));
      }),
      { numRuns: 1000 },
    );
  });

  it('writes UTF-8 bytes as strings', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
        const bytes = encodeUtf8(`<${text}>`);
        const out = written((writer) => writer.utf8(bytes, 1, bytes.length - 1));
        expect(out).toBe(JSON.stringify(readUtf8(bytes, 1, bytes.length - 1)));
      }),
      { numRuns: 500 },
    );
  });

  it('writes numbers as JSON does', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.double(), fc.nat(), (integer, double, nat) => {
        expect(written((writer) => writer.integer(integer))).toBe(String(integer));
        expect(written((writer) => writer.integer(nat))).toBe(String(nat));
        expect(written((writer) => writer.number(double))).toBe(JSON.stringify(double));
      }),
    );
    expect([0, 9, 10, 2147483647, 2147483648].map((n) => written((w) => w.integer(n)))).toEqual([
      '0',
      '9',
      '10',
      '2147483647',
      '2147483648',
    ]);
    expect(written((writer) => writer.integerText(42))).toBe('"42"');
  });

  it('writes an answer', () => {
    const uuid = parseUuid('0199c0de-1111-7222-8333-444455556666')!;
    const payload = encodeUtf8('xx{"n":12345678901234567890}yy');
    const text = written((writer) =>
      writer
        .fragment(encodeUtf8('[{"id":'))
        .uuid(uuid)
        .ascii(',"at":')
        .timestamp(1_772_600_767_123_456)
        .ascii(',"ms":')
        .timestamp(1_772_600_767_123_456, 3)
        .ascii(',"data":')
        .splice(payload, 2, payload.length - 2)
        .ascii(',"trace":')
        .stringOrNull(undefined)
        .ascii(',"ok":')
        .boolean(true)
        .byte(0x7d)
        .byte(0x5d),
    );
    expect(text).toBe(
      '[{"id":"0199c0de-1111-7222-8333-444455556666","at":"2026-03-04T05:06:07.123456Z",' +
        '"ms":"2026-03-04T05:06:07.123Z","data":{"n":12345678901234567890},"trace":null,"ok":true}]',
    );
  });

  it('takes a last comma back and starts again', () => {
    const writer = new JsonWriter();
    writer.ascii('[1,');
    writer.truncate(writer.length - 1).ascii(']');
    expect(readUtf8(writer.view(), 0, writer.length)).toBe('[1]');
    expect(writer.clear().length).toBe(0);
  });
});
