/** docs/recovery.md: every rehearsed case is named on the page, and the page names no case that is not. */
import { existsSync, readFileSync } from 'node:fs';
import { DISK_REHEARSALS } from './operations/rehearsals-disks.js';
import { NODE_REHEARSALS } from './operations/rehearsals-nodes.js';

const page = readFileSync('docs/recovery.md', 'utf8');
const names = [...NODE_REHEARSALS, ...DISK_REHEARSALS].map(({ name }) => name);

it.each(names)('%s is on the page', (name) => {
  // A name that holds code is quoted by two backticks.
  const quotes = name.includes('`') ? '``' : '`';
  expect(page.replaceAll('`` ', '``').replaceAll(' ``', '``')).toContain(quotes + name + quotes);
});

it('names rehearsals and test files that exist', () => {
  const rehearsed = [...page.matchAll(/Rehearsed:([^]*?)(?:\n\n|$)/g)].map(
    ([, text]) => text ?? '',
  );
  expect(rehearsed.length).toBeGreaterThan(15);
  const quoted = rehearsed.flatMap(quotesOf).filter((text) => !text.startsWith('npm run '));
  expect(quoted.filter((text) => !names.includes(text))).toEqual([]);
  const files = [...page.matchAll(/test:cluster -- ([a-z-]+)/g)].map(([, name]) => name ?? '');
  expect(files.length).toBeGreaterThan(3);
  for (const name of files)
    expect([name, existsSync(`test/cluster/${name}.spec.ts`)]).toEqual([name, true]);
});

it('leads every link of the page to one of its headings', () => {
  const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, text]) => anchorOf(text ?? ''));
  const links = [...page.matchAll(/\]\(#([^)]*)\)/g)].map(([, anchor]) => anchor);
  expect(links.filter((anchor) => !headings.includes(anchor ?? ''))).toEqual([]);
});

function quotesOf(text: string): string[] {
  const quotes = text.matchAll(/``([^]+?)``|`([^`]+)`/g);
  return [...quotes].map(([, two, one]) => (two ?? one ?? '').replace(/\s+/g, ' ').trim());
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');
}
