/**
 * Words that must not be committed anywhere: marks of unfinished work, paths of one machine, hosts of
 * package registries. The patterns are written so that this file passes its own check.
 */
import type { Finding, Source } from './source.js';

interface TextRule {
  readonly pattern: RegExp;
  readonly message: string;
  /** Files that the rule does not look at. */
  readonly except?: RegExp;
}

const MARKS = ['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX'].join('|');

const RULES: readonly TextRule[] = [
  { pattern: new RegExp(`\\b(${MARKS})\\b`), message: 'a mark of unfinished work' },
  {
    pattern: /(^|[^a-zA-Z0-9_.-])\/(work|farm|root)\//,
    message: 'a path of one machine',
  },
  { pattern: /\/\/(registry|deb)\.[a-z]+\.(org|com)/, message: 'the host of a package registry' },
];

/** Integrity hashes in it may contain anything. */
const LOCK_FILE = 'package-lock.json';

export function checkTexts({ path, text }: Source): readonly Finding[] {
  const findings: Finding[] = [];
  const rules = path === LOCK_FILE ? RULES.slice(2) : RULES;
  text.split('\n').forEach((content, at) => {
    for (const { pattern, message } of rules) {
      if (pattern.test(content)) findings.push({ path, line: at + 1, message });
    }
  });
  return findings;
}

/** The lock file names versions and hashes; where packages come from is each machine's own matter. */
export function checkLockFile({ path, text }: Source): readonly Finding[] {
  const at = text.split('\n').findIndex((line) => /"resolved":/.test(line));
  if (path !== LOCK_FILE || at < 0) return [];
  return [{ path, line: at + 1, message: 'has resolved URLs (omit-lockfile-registry-resolved)' }];
}
