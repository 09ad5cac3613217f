/** Injection tokens of the HTTP room. */
export const HTTP_LOGGER = Symbol('HTTP_LOGGER');
/** Mints message ids, dead-letter ids and lease ids of this process (UuidMint). */
export const MESSAGE_IDS = Symbol('MESSAGE_IDS');
