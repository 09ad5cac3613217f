/** The list of rows of messages.md points at tests that exist. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OTHER_ROWS } from './row-index-rest.js';
import { SPEC_ROWS } from './row-index.js';

const ROOT = join(__dirname, '..', '..', '..');

/** Without its header, which only speaks of tests. */
function textOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8').replace(/^\/\*\*[^]*?\*\//, '');
}

it.each([...SPEC_ROWS, ...OTHER_ROWS])('§%s %s: %s', (_section, _row, file, title) => {
  expect(textOf(file).includes(title)).toBe(true);
});
