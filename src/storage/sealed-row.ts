/**
 * How a row's value lies in LevelDB. The checksum covers key and value, so a flipped byte and a row
 * that answers under another key are both found; it is checked on every read, no exception.
 *
 *   sealed value = version u8 (1) | crc32c(key, value) u32 LE | value bytes
 */
import { crc32c } from './crc32c.js';
import { StoreDamageError } from './errors.js';

export const SEAL_BYTES = 5;
const SEAL_VERSION = 1;

/** Fills the seal in front of a value that lies at sealed[SEAL_BYTES..]. */
export function sealInPlace(key: Uint8Array, sealed: Uint8Array): void {
  const crc = crc32c(sealed, SEAL_BYTES, sealed.length, crc32c(key));
  sealed[0] = SEAL_VERSION;
  sealed[1] = crc & 255;
  sealed[2] = (crc >>> 8) & 255;
  sealed[3] = (crc >>> 16) & 255;
  sealed[4] = crc >>> 24;
}

/** A sealed copy of a value. */
export function seal(key: Uint8Array, value: Uint8Array): Uint8Array {
  const sealed = new Uint8Array(SEAL_BYTES + value.length);
  sealed.set(value, SEAL_BYTES);
  sealInPlace(key, sealed);
  return sealed;
}

/** Whether a sealed value is the one written under this key. */
export function sealHolds(key: Uint8Array, sealed: Uint8Array): boolean {
  if (sealed.length < SEAL_BYTES || sealed[0] !== SEAL_VERSION) return false;
  const stored = (sealed[1]! | (sealed[2]! << 8) | (sealed[3]! << 16) | (sealed[4]! << 24)) >>> 0;
  return stored === crc32c(sealed, SEAL_BYTES, sealed.length, crc32c(key));
}

/** The value inside (no copy). Throws StoreDamageError naming the key when the seal is broken. */
export function unseal(key: Uint8Array, sealed: Uint8Array, directory: string): Uint8Array {
  if (sealHolds(key, sealed)) return sealed.subarray(SEAL_BYTES);
  const newer = sealed.length >= SEAL_BYTES && sealed[0]! > SEAL_VERSION;
  throw new StoreDamageError({
    file: directory,
    keyspace: key[0] ?? 0,
    keyHex: Buffer.from(key).toString('hex'),
    reason: newer
      ? `the row has format ${sealed[0]} (this build writes ${SEAL_VERSION}) or a wrong checksum`
      : 'the row does not match its checksum',
  });
}
