/** A lease id as a map key: its 16 bytes as one Latin-1 string. */
export function leaseKeyOf(leaseId: Uint8Array): string {
  let key = '';
  for (const byte of leaseId) key += String.fromCharCode(byte);
  return key;
}
