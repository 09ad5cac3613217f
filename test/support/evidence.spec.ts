/** Pages of docs/evidence: a run that did not pass never looks like one that did. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeEvidence } from './evidence.js';

interface Sections {
  recordSection(path: string, page: object, section: object): void;
}

const { recordSection } = jest.requireActual<Sections>('./evidence-sections.mjs');

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'queen-evidence-'));
  path = join(directory, 'page.md');
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

const text = (): string => readFileSync(path, 'utf8');

it.each([
  [true, '# Kills'],
  [false, '# FAILED: Kills'],
])('a page of a run that passed: %s', (passed, first) => {
  writeEvidence({ path, title: 'Kills', about: 'a', command: 'c', table: 't', passed });
  expect(text().split('\n')[0]).toBe(first);
});

it('a section takes the place of the one before, failed or not', () => {
  const page = { title: 'Page', about: 'a' };
  const section = (title: string, passed: boolean, table: string): void =>
    recordSection(path, page, { title, command: 'c', table, passed });
  section('One', false, 'first');
  section('Two', true, 'other');
  const titles = (): string[] => text().match(/^##? .*$/gm) ?? [];
  expect(titles()).toEqual(['# Page', '## FAILED: One', '## Two']);
  section('One', true, 'second');
  expect(titles()).toEqual(['# Page', '## Two', '## One']);
  section('One', false, 'third');
  expect(titles()).toEqual(['# Page', '## Two', '## FAILED: One']);
  expect(text()).not.toMatch(/first|second/);
});
