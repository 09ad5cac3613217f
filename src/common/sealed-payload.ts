/**
 * The stored form of a payload this broker encrypted. A message may be marked as encrypted by its client
 * instead (timers): such bytes have another form and pass as they are. No JSON text begins with a zero.
 *
 *   6B 00 "QSEAL" | u8 version=1 | 12B nonce | 16B tag | ciphertext
 */
export const SEAL_MARK = Uint8Array.of(0, 0x51, 0x53, 0x45, 0x41, 0x4c, 1);
export const SEAL_NONCE_AT = 7;
export const SEAL_TAG_AT = 19;
export const SEAL_TEXT_AT = 35;

/** Whether the bytes have the form of a payload sealed by a broker. */
export function isSealed(payload: Uint8Array): boolean {
  return payload.length >= SEAL_TEXT_AT && SEAL_MARK.every((byte, i) => payload[i] === byte);
}
