/**
 * Names of the key-value store (state.md §1.1). A namespace is short ASCII; a key is any text without
 * NUL. Tenant, namespace and key together fit the store's key of 511 bytes.
 */
import { TENANT_NAME_BYTES } from './name-budget.js';
import { utf8Length } from './utf8.js';

export const MAX_KV_KEY_BYTES = 512;
const STORE_KEY_BYTES = 511;
/** One between two names. */
const SEPARATORS = 2;
const NAMESPACE = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const LONE_SURROGATE = /\p{Surrogate}/u;

export function isKvNamespace(text: string): boolean {
  return NAMESPACE.test(text);
}

/** Whether a key of any namespace may be called so. */
export function isKvKey(text: string): boolean {
  return text !== '' && isKvText(text) && utf8Length(text) <= MAX_KV_KEY_BYTES;
}

/** No NUL, and Unicode: a lone surrogate has no UTF-8. */
export function isKvText(text: string): boolean {
  return !text.includes('\0') && !LONE_SURROGATE.test(text);
}

/** Whether key (or prefix) and namespace fit the store's key. */
export function fitsKvStoreKey(namespace: string, key: string): boolean {
  const bytes = utf8Length(key);
  if (bytes > MAX_KV_KEY_BYTES) return false;
  return TENANT_NAME_BYTES + namespace.length + bytes + SEPARATORS <= STORE_KEY_BYTES;
}
