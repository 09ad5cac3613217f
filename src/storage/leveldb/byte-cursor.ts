/**
 * Reads LevelDB's integers and slices from bytes that may be damaged: every read checks the end,
 * and a failed one throws MalformedBytes, which the verifier turns into a refusal with file and
 * offset.
 */

export class MalformedBytes extends Error {
  constructor(
    readonly byteOffset: number,
    reason: string,
  ) {
    super(reason);
    this.name = 'MalformedBytes';
  }
}

export class ByteCursor {
  constructor(
    private readonly bytes: Buffer,
    public position = 0,
    private readonly end = bytes.length,
  ) {}

  get atEnd(): boolean {
    return this.position >= this.end;
  }

  byte(): number {
    if (this.position >= this.end) throw new MalformedBytes(this.position, 'ends too early');
    return this.bytes[this.position++]!;
  }

  /** Varint of up to 53 bits; LevelDB's file numbers and sizes stay far below. */
  varint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 8; i++) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return this.safe(value);
      scale *= 128;
    }
    throw new MalformedBytes(this.position, 'a number is too long');
  }

  fixed32(): number {
    this.need(4);
    const value = this.bytes.readUInt32LE(this.position);
    this.position += 4;
    return value;
  }

  fixed64(): number {
    this.need(8);
    const value = Number(this.bytes.readBigUInt64LE(this.position));
    this.position += 8;
    return this.safe(value);
  }

  slice(length: number): Buffer {
    this.need(length);
    const slice = this.bytes.subarray(this.position, this.position + length);
    this.position += length;
    return slice;
  }

  lengthPrefixed(): Buffer {
    return this.slice(this.varint());
  }

  private need(length: number): void {
    if (this.position + length > this.end) {
      throw new MalformedBytes(this.position, 'ends too early');
    }
  }

  private safe(value: number): number {
    if (Number.isSafeInteger(value)) return value;
    throw new MalformedBytes(this.position, 'a number is out of range');
  }
}
