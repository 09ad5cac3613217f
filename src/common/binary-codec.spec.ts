/**
 * Writer and reader against each other: round trips of random fields, refusal of damaged bytes,
 * values outside a field, and the layout itself.
 */
import fc from 'fast-check';
import { BinaryReader, DecodeError } from './binary-reader.js';
import { BinaryWriter } from './binary-writer.js';
import { InvariantViolation } from './invariant.js';

type Field =
  | { kind: 'u8' | 'u16' | 'u32' | 'i32' | 'u48' | 'u64' | 'i64'; value: number }
  | { kind: 'varint' | 'signedVarint' | 'f64'; value: number }
  | { kind: 'string'; value: string }
  | { kind: 'bytes'; value: Uint8Array };

const integer = (kind: Extract<Field, { value: number }>['kind'], min: number, max: number) =>
  fc.oneof(fc.integer({ min, max }), fc.constantFrom(min, max)).map((value) => ({ kind, value }));

const anyField: fc.Arbitrary<Field> = fc.oneof(
  integer('u8', 0, 0xff),
  integer('u16', 0, 0xffff),
  integer('u32', 0, 0xffff_ffff),
  integer('i32', -0x8000_0000, 0x7fff_ffff),
  integer('u48', 0, 2 ** 48 - 1),
  integer('u64', 0, Number.MAX_SAFE_INTEGER),
  integer('i64', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  integer('varint', 0, Number.MAX_SAFE_INTEGER),
  integer('varint', 0, 0x200),
  integer('signedVarint', -(2 ** 52) + 1, 2 ** 52 - 1),
  fc.double().map((value) => ({ kind: 'f64' as const, value })),
  fc
    .string({ unit: 'binary', maxLength: 200 })
    .map((value) => ({ kind: 'string' as const, value })),
  fc.uint8Array({ maxLength: 200 }).map((value) => ({ kind: 'bytes' as const, value })),
);

function write(writer: BinaryWriter, field: Field): void {
  if (field.kind === 'string') writer.string(field.value);
  else if (field.kind === 'bytes') writer.lengthPrefixed(field.value);
  else writer[field.kind](field.value);
}

function read(reader: BinaryReader, field: Field): unknown {
  if (field.kind === 'bytes') return reader.lengthPrefixed();
  return reader[field.kind]();
}

describe('BinaryWriter and BinaryReader', () => {
  it('read back what was written, in order, at every buffer size', () => {
    fc.assert(
      fc.property(fc.array(anyField, { maxLength: 30 }), fc.nat(40), (fields, initial) => {
        const writer = new BinaryWriter(initial);
        fields.forEach((field) => write(writer, field));
        const reader = new BinaryReader(writer.toBytes());
        for (const field of fields) {
          const value = read(reader, field);
          if (field.kind === 'bytes')
            expect(Buffer.from(value as Uint8Array)).toEqual(Buffer.from(field.value));
          else expect(value).toBe(field.value);
        }
        reader.expectEnd();
      }),
      { numRuns: 500 },
    );
  });

  it('never reads outside its range, whatever the bytes say', () => {
    const reads: ReadonlyArray<(reader: BinaryReader) => unknown> = [
      (r) => r.u8(),
      (r) => r.u16(),
      (r) => r.u32(),
      (r) => r.i32(),
      (r) => r.u48(),
      (r) => r.u64(),
      (r) => r.f64(),
      (r) => r.varint(),
      (r) => r.string(),
      (r) => r.lengthPrefixed(),
      (r) => r.boolean(),
      (r) => r.raw(1_000_000),
    ];
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 24 }),
        fc.array(fc.nat(reads.length - 1)),
        (bytes, plan) => {
          const padded = new Uint8Array(bytes.length + 16).fill(7);
          padded.set(bytes, 8);
          const reader = new BinaryReader(padded, 8, 8 + bytes.length);
          try {
            plan.forEach((index) => reads[index]!(reader));
          } catch (error) {
            expect(error).toBeInstanceOf(DecodeError);
          }
          expect(reader.position).toBeLessThanOrEqual(8 + bytes.length);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('lays integers out little-endian', () => {
    const writer = new BinaryWriter(1);
    writer.u16(0x0102);
    writer.u32(0xfffefdfc);
    writer.u48(0x0102_0304_0506);
    writer.i64(-1);
    expect(Buffer.from(writer.view()).toString('hex')).toBe(
      '0201' + 'fcfdfeff' + '060504030201' + 'ffffffffffffffff',
    );
  });

  it.each([
    [0, '00'],
    [127, '7f'],
    [128, '8001'],
    [300, 'ac02'],
    [2 ** 31, '8080808008'],
    [Number.MAX_SAFE_INTEGER, 'ffffffffffffff0f'],
  ])('writes varint %p as %p', (value, hex) => {
    const writer = new BinaryWriter();
    writer.varint(value);
    expect(Buffer.from(writer.view()).toString('hex')).toBe(hex);
  });

  it.each(['8000', 'ffffffffffffff10', 'ffffffffffffffff01', 'ffffffffffffff8f00', '80'])(
    'refuses the varint %p',
    (hex) => {
      expect(() => new BinaryReader(Buffer.from(hex, 'hex')).varint()).toThrow(DecodeError);
    },
  );

  it('refuses invalid UTF-8, bad booleans, rest bytes and newer versions', () => {
    expect(() => new BinaryReader(Uint8Array.of(2, 0xc0, 0x80)).string()).toThrow('invalid UTF-8');
    expect(() => new BinaryReader(Uint8Array.of(2)).boolean()).toThrow(DecodeError);
    expect(() => new BinaryReader(Uint8Array.of(2)).expectEnd()).toThrow('follow at byte 0');
    expect(() => new BinaryReader(Uint8Array.of(2)).version(1, 'row')).toThrow('row has version 2');
    expect(new BinaryReader(Uint8Array.of(2)).version(3, 'row')).toBe(2);
    expect(() => new BinaryReader(new Uint8Array(4), 3, 9)).toThrow(DecodeError);
  });

  it('treats values outside a field as a broken invariant', () => {
    const writer = new BinaryWriter();
    const bad: ReadonlyArray<() => void> = [
      () => writer.u8(256),
      () => writer.u8(-1),
      () => writer.u8(1.5),
      () => writer.u16(65536),
      () => writer.u32(-1),
      () => writer.u32(2 ** 32),
      () => writer.i32(2 ** 31),
      () => writer.u48(2 ** 48),
      () => writer.u64(2 ** 53),
      () => writer.u64(-1),
      () => writer.varint(-1),
      () => writer.varint(0.5),
      () => writer.varint(NaN),
    ];
    for (const attempt of bad) expect(attempt).toThrow(InvariantViolation);
    expect(writer.length).toBe(0);
  });

  it('patches, reserves, truncates and clears', () => {
    const writer = new BinaryWriter(2);
    const lengthAt = writer.reserve(4);
    writer.string('grüße');
    writer.patchU32(lengthAt, writer.length - 4);
    const reader = new BinaryReader(writer.toBytes());
    expect(reader.u32()).toBe(8);
    expect(reader.string()).toBe('grüße');
    writer.truncate(4);
    expect(writer.length).toBe(4);
    writer.clear();
    expect(writer.view()).toHaveLength(0);
  });

  it('stops at its bound', () => {
    const writer = new BinaryWriter(4, 16);
    writer.raw(new Uint8Array(16));
    expect(() => writer.u8(1)).toThrow(InvariantViolation);
  });

  it('replaces lone surrogates in texts', () => {
    const writer = new BinaryWriter();
    writer.string('a\ud800b');
    expect(new BinaryReader(writer.view()).string()).toBe('a\ufffdb');
  });
});
