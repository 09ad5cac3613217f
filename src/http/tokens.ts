/** Injection tokens of the HTTP room. */
export const HTTP_LOGGER = Symbol('HTTP_LOGGER');
