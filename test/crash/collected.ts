/** What the collector of log segments did, as the log of a broker tells it. */
import { readFileSync } from 'node:fs';

export interface Collected {
  readonly unlinked: number;
  readonly rewritten: number;
}

/** Of a log in JSON lines. */
export function collectedIn(logFile: string): Collected {
  const collected = { unlinked: 0, rewritten: 0 };
  for (const line of readFileSync(logFile, 'utf8').split('\n')) {
    if (!line.includes('"log segment')) continue;
    const { message, segments } = parsed(line);
    if (message === 'log segments removed') collected.unlinked += segments ?? 0;
    if (message === 'log segment rewritten') collected.rewritten += 1;
  }
  return collected;
}

/** A kill may cut a line short: then it counts for nothing. */
function parsed(line: string): { readonly message?: string; readonly segments?: number } {
  try {
    return JSON.parse(line) as { message?: string; segments?: number };
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}
