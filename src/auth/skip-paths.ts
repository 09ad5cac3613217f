/**
 * JWT_SKIP_PATHS: paths served without a token. An entry matches exactly, or everything below it when
 * it is longer than `/` and ends with `/`. Compared with the path as it was sent, without the query.
 */
export class SkipPaths {
  private readonly exact: ReadonlySet<string>;
  private readonly prefixes: readonly string[];

  constructor(entries: readonly string[]) {
    this.exact = new Set(entries);
    this.prefixes = entries.filter((entry) => entry.length > 1 && entry.endsWith('/'));
  }

  covers(path: string): boolean {
    return this.exact.has(path) || this.prefixes.some((prefix) => path.startsWith(prefix));
  }
}
