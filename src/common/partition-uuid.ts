/**
 * The second identity of a partition: a UUIDv7 computed from its creation time and its number, so it
 * is never stored and both forms lead to the same partition.
 *
 *   0         5 6     7 8       9 10       15   time: createdAt in ms
 *   ┌──────────┬───────┬─────────┬──────────┐   tag: 26 bits over time and number; tells ours from
 *   │   time   │7│t12  │10│ t14  │  number' │        any other UUIDv7
 *   └──────────┴───────┴─────────┴──────────┘   number': the 48-bit number through a fixed
 *                                                        permutation (4-round Feistel, 24-bit halves)
 * The layout is part of the wire and must never change.
 */

import { UUID_BYTES, uuidMs } from './uuid-v7.js';

const HALF = 0x100_0000;
const HALF_MASK = HALF - 1;
const ROUND_KEYS = [0x9e3779b9, 0x7f4a7c15, 0xf39cc060, 0x5cedc834] as const;

function mix(value: number): number {
  let h = Math.imul(value ^ (value >>> 15), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

function permute(number: number): { high: number; low: number } {
  let high = Math.floor(number / HALF);
  let low = number % HALF;
  for (const key of ROUND_KEYS) {
    const next = high ^ (mix(low ^ key) & HALF_MASK);
    high = low;
    low = next;
  }
  return { high, low };
}

function unpermute(highHalf: number, lowHalf: number): number {
  let high = highHalf;
  let low = lowHalf;
  for (const key of ROUND_KEYS.toReversed()) {
    const previous = low ^ (mix(high ^ key) & HALF_MASK);
    low = high;
    high = previous;
  }
  return high * HALF + low;
}

function tagOf(ms: number, number: number): number {
  const time = mix(((ms % 0x1_0000_0000) | 0) ^ mix(Math.floor(ms / 0x1_0000_0000) + 1));
  return mix(time ^ mix((number % HALF) ^ mix(Math.floor(number / HALF) + 0x51ed27))) >>> 6;
}

/** Writes the UUID of a partition into target at `at`. */
export function writePartitionUuid(
  createdAtMicros: number,
  partitionId: number,
  target: Uint8Array,
  at: number,
): void {
  const ms = Math.floor(createdAtMicros / 1000);
  const tag = tagOf(ms, partitionId);
  const { high, low } = permute(partitionId);
  for (let i = 5, rest = ms; i >= 0; i--, rest = Math.floor(rest / 256))
    target[at + i] = rest % 256;
  target[at + 6] = 0x70 | (tag >>> 22);
  target[at + 7] = tag >>> 14;
  target[at + 8] = 0x80 | ((tag >>> 8) & 0x3f);
  target[at + 9] = tag;
  target[at + 10] = high >>> 16;
  target[at + 11] = high >>> 8;
  target[at + 12] = high;
  target[at + 13] = low >>> 16;
  target[at + 14] = low >>> 8;
  target[at + 15] = low;
}

/** The 16 bytes of a partition's UUID. `partitionId` below 2^48, `createdAtMicros` ≥ 0. */
export function partitionUuid(createdAtMicros: number, partitionId: number): Uint8Array {
  const bytes = new Uint8Array(UUID_BYTES);
  writePartitionUuid(createdAtMicros, partitionId, bytes, 0);
  return bytes;
}

/** The partition number inside a partition's UUID; undefined when the UUID is not one of ours. */
export function partitionNumberFromUuid(uuid: Uint8Array, at = 0): number | undefined {
  const b = (index: number): number => uuid[at + index] ?? 0;
  if (uuid.length - at < UUID_BYTES || b(6) >>> 4 !== 7 || b(8) >>> 6 !== 2) return undefined;
  const number = unpermute(
    (b(10) << 16) | (b(11) << 8) | b(12),
    (b(13) << 16) | (b(14) << 8) | b(15),
  );
  const tag = ((b(6) & 0x0f) << 22) | (b(7) << 14) | ((b(8) & 0x3f) << 8) | b(9);
  return tag === tagOf(uuidMs(uuid, at), number) ? number : undefined;
}
