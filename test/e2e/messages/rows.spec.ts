/** The list of rows of messages.md points at tests that exist. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OTHER_ROWS } from './row-index-rest.js';
import { SPEC_ROWS } from './row-index.js';

const ROOT = join(__dirname, '..', '..', '..');

it.each([...SPEC_ROWS, ...OTHER_ROWS])('§%s %s: %s', (_section, _row, file, title) => {
  expect(readFileSync(join(ROOT, file), 'utf8').includes(title)).toBe(true);
});
