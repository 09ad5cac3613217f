/**
 * Payload encryption of this node (spec §2.11, cluster §9.5): AES-256-GCM with a fresh nonce per
 * payload. The stored form (common/sealed-payload) is ours alone, no reader ever sees it.
 */
import { createCipheriv, createDecipheriv, createHmac, randomFillSync } from 'node:crypto';
import {
  isSealed,
  SEAL_MARK,
  SEAL_NONCE_AT as NONCE_AT,
  SEAL_TAG_AT as TAG_AT,
  SEAL_TEXT_AT as TEXT_AT,
} from '../common/sealed-payload.js';
import type { PayloadCipher } from './group/group.js';

const CHECK_BYTES = 16;
const CHECK_TEXT = 'queen payload key check v1';

export class AesPayloadCipher implements PayloadCipher {
  readonly check: Uint8Array;
  private readonly key: Buffer;

  /** 64 hex characters; the configuration checked that. */
  constructor(hexKey: string) {
    this.key = Buffer.from(hexKey, 'hex');
    const digest = createHmac('sha256', this.key).update(CHECK_TEXT).digest();
    this.check = new Uint8Array(digest.subarray(0, CHECK_BYTES));
  }

  seal(plain: Uint8Array): Uint8Array {
    const sealed = new Uint8Array(TEXT_AT + plain.length);
    sealed.set(SEAL_MARK);
    const nonce = sealed.subarray(NONCE_AT, TAG_AT);
    randomFillSync(nonce);
    const cipher = createCipheriv('aes-256-gcm', this.key, nonce);
    sealed.set(cipher.update(plain), TEXT_AT);
    cipher.final();
    sealed.set(cipher.getAuthTag(), TAG_AT);
    return sealed;
  }

  open(sealed: Uint8Array): Uint8Array | null {
    if (!isSealed(sealed)) return null;
    const nonce = sealed.subarray(NONCE_AT, TAG_AT);
    const decipher = createDecipheriv('aes-256-gcm', this.key, nonce);
    decipher.setAuthTag(sealed.subarray(TAG_AT, TEXT_AT));
    const plain = decipher.update(sealed.subarray(TEXT_AT));
    try {
      decipher.final();
    } catch {
      return null;
    }
    return plain;
  }
}

const CURE =
  'Set it to the key this data was encrypted with, the same on every node, and start again.';

/** Refuses to serve data this node could not decrypt, or would encrypt with another key. */
export function checkEncryptionKey(bound: Uint8Array | null, cipher: PayloadCipher | null): void {
  if (bound === null) return;
  if (cipher === null) {
    throw new Error(`QUEEN_ENCRYPTION_KEY is unset, but payloads here are encrypted. ${CURE}`);
  }
  if (Buffer.compare(bound, cipher.check) !== 0) {
    throw new Error(`QUEEN_ENCRYPTION_KEY is not the key of this cluster. ${CURE}`);
  }
}
