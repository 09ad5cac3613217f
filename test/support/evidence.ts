/**
 * Writes the page of docs/evidence that a runner fills: its title, what it did, and the last table with
 * commit and date. The first line of a run that did not pass says so: its table proves nothing.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname } from 'node:path';

export interface EvidencePage {
  readonly path: string;
  readonly title: string;
  /** What was run and checked, in a few lines. */
  readonly about: string;
  readonly command: string;
  readonly table: string;
  /** The run ends with 0. */
  readonly passed: boolean;
}

export function writeEvidence(page: EvidencePage): void {
  const { path, about, command, table, passed } = page;
  const title = passed ? page.title : `FAILED: ${page.title}`;
  const commit = git('rev-parse', '--short', 'HEAD');
  const changed =
    git('status', '--porcelain', '--untracked-files=no', 'src') === '' ? '' : ' with changes';
  const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
  const where = `Node ${process.versions.node}, ${cpus().length} cores`;
  mkdirSync(dirname(path), { recursive: true });
  const run = `\`${command}\`, commit ${commit}${changed}, ${date} UTC, ${where}`;
  writeFileSync(path, `# ${title}\n\n${about}\n\n${run}\n\n${table}\n`);
}

function git(...args: readonly string[]): string {
  return spawnSync('git', args, { encoding: 'utf8' }).stdout.trim();
}
