/**
 * What checkpoint n changes, as a function of a seed and n alone, and the state after it. The child
 * that writes and the parent that judges both compute it; the text of `changesOf` is handed to the
 * child, so it uses nothing from outside.
 */
import { createHash } from 'node:crypto';

export interface Change {
  key: string;
  /** Value text, latin1; null deletes. */
  value: string | null;
}

/** Between 1 and 400 changes over 3,000 keys, values of 0 to 600 bytes, at times a large one. */
export function changesOf(seed: number, checkpoint: number): Change[] {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(checkpoint, 0x85ebca6b)) >>> 0 || 1;
  const random = (bound: number): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % bound;
  };
  const changes: Change[] = [];
  for (let i = 1 + random(400); i > 0; i--) {
    const key = String.fromCharCode(2 + random(4)) + random(3000).toString(36).padStart(3, '0');
    if (random(5) === 0) changes.push({ key, value: null });
    else {
      const length = random(300) === 0 ? 50_000 : random(600);
      const letter = String.fromCharCode(random(256));
      changes.push({ key, value: `${checkpoint}.${i}.${letter.repeat(length)}` });
    }
  }
  return changes;
}

/** One number per row; a state is the sum of its rows' numbers modulo 2^48, as in the child. */
export function rowNumber(key: string, value: string): number {
  const hash = createHash('sha256').update(`${key.length},${value.length},`);
  return hash.update(key, 'latin1').update(value, 'latin1').digest().readUIntBE(0, 6);
}

const MODULUS = 2 ** 48;

/** States by checkpoint, computed as far as they are asked for. */
export class Model {
  private readonly rows = new Map<string, number>();
  private readonly digests: number[] = [0];

  constructor(private readonly seed: number) {}

  digestAt(checkpoint: number): number {
    while (this.digests.length <= checkpoint) {
      let digest = this.digests.at(-1)!;
      for (const { key, value } of changesOf(this.seed, this.digests.length)) {
        digest = (digest + MODULUS - (this.rows.get(key) ?? 0)) % MODULUS;
        const number = value === null ? 0 : rowNumber(key, value);
        this.rows.set(key, number);
        digest = (digest + number) % MODULUS;
      }
      this.digests.push(digest);
    }
    return this.digests[checkpoint]!;
  }
}
