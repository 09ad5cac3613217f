/** Payload encryption: round trips, fresh nonces, changed bytes, other keys, the boot's check. */
import { AesPayloadCipher, checkEncryptionKey } from './payload-cipher.js';

const cipher = new AesPayloadCipher('a1'.repeat(32));
const other = new AesPayloadCipher('b2'.repeat(32));

describe('AesPayloadCipher', () => {
  it.each([0, 1, 16, 1000])('gives back %d bytes', (size) => {
    const plain = Uint8Array.from({ length: size }, (_, i) => i);
    expect(Uint8Array.from(cipher.open(cipher.seal(plain))!)).toEqual(plain);
  });

  it('never seals alike', () => {
    const plain = new Uint8Array(32);
    expect(cipher.seal(plain)).not.toEqual(cipher.seal(plain));
  });

  it('does not open changed bytes, what another key sealed and other forms', () => {
    const sealed = cipher.seal(Uint8Array.of(1, 2, 3));
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = sealed.slice();
      changed[at] = changed[at]! ^ 1;
      expect(cipher.open(changed)).toBeNull();
    }
    expect(other.open(sealed)).toBeNull();
    expect(cipher.open(new Uint8Array(3))).toBeNull();
    expect(cipher.open(Buffer.from('{"encrypted":"of a client"}'))).toBeNull();
  });
});

describe('checkEncryptionKey', () => {
  it.each([
    ['nothing bound, no key', null, null, null],
    ['nothing bound, a key', null, cipher, null],
    ['its own key', cipher.check, cipher, null],
    ['another key', cipher.check, other, 'is not the key of this cluster'],
    ['no key', cipher.check, null, 'is unset'],
  ])('%s', (_, bound, own, refusal) => {
    const check = (): void => checkEncryptionKey(bound, own);
    if (refusal === null) expect(check).not.toThrow();
    else expect(check).toThrow(refusal);
  });
});
