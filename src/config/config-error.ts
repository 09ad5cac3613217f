/**
 * A configuration that the broker refuses to boot with. The launcher prints it as `FATAL: …` and
 * exits 1. The message names the variable and the cure; it never holds a secret.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(
    /** The variable at fault. */
    readonly variable: string,
    message: string,
  ) {
    super(message);
  }
}
