/**
 * Writes one section of a page of docs/evidence: what was run, with commit and date, and the table it
 * printed. The title of a run that did not pass says so.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const FAILED = 'FAILED: ';

export function titleOf({ title, passed }) {
  return passed ? title : `${FAILED}${title}`;
}

export function tableOf(head, rows) {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Other sections of the page stay as they are. */
export function recordSection(path, page, section) {
  const { title, command, note = '', table } = section;
  const git = (...args) => spawnSync('git', args, { encoding: 'utf8' }).stdout.trim();
  const commit = git('rev-parse', '--short', 'HEAD');
  const changed =
    git('status', '--porcelain', '--untracked-files=no', 'src') === '' ? '' : ' with changes';
  const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
  const run = `\`${command}\`, commit ${commit}${changed}, ${date} UTC${note === '' ? '' : `: ${note}`}`;
  const [, ...parts] = existing(path).split(/\n(?=## )/);
  const isOfIt = (part) => [title, FAILED + title].some((one) => part.startsWith(`## ${one}\n`));
  const others = parts.filter((part) => !isOfIt(part));
  const sections = [...others, `## ${titleOf(section)}\n\n${run}\n\n${table}`].map((part) =>
    part.trimEnd(),
  );
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${[`# ${page.title}\n\n${page.about}`, ...sections].join('\n\n')}\n`);
}

function existing(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return '';
  }
}
