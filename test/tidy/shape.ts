/**
 * How a file looks from outside: its size, its header, its name and the names of its types; that no
 * test is left out or alone; that no error is swallowed without a word.
 */
import ts from 'typescript';
import { isBelowSrc, lineOf, nodesOf, treeOf, type Finding, type Source } from './source.js';

const MAX_LINES = 500;
const MAX_HEADER_LINES = 6;
const KINDS = 'module|controller|service|guard|filter|interceptor|pipe|middleware|decorator';
const FILE_NAME = new RegExp(
  `^[a-z0-9]+(-[a-z0-9]+)*(\\.(${KINDS}|provider|indicator|dto|bench|property|fixture|spec|d))*\\.ts$`,
);
const FOLDER_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
/** Says nothing wherever it stands. */
const EMPTY_WORD = /^(manager|helper|util)s?$/;
/** Says nothing at the end; a data directory is a data directory. */
const EMPTY_ENDING = /^(data|info)$/;

export function checkSize({ path, text }: Source): readonly Finding[] {
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  if (lines <= MAX_LINES) return [];
  return [{ path, line: MAX_LINES, message: `${lines} lines, the limit is ${MAX_LINES}` }];
}

/**
 * Lines of the first paragraph of the comment that opens the file; 0 without one. A drawn layout may
 * follow after an empty line.
 */
function headerLines(text: string): number {
  const block = /^\/\*\*?([\s\S]*?)\*\//.exec(text)?.[1];
  const comment = block ?? /^(\/\/[^\n]*\n)+/.exec(text)?.[0] ?? '';
  const [first = ''] = comment
    .trim()
    .replace(/^\*/, '')
    .split(/\n[ \t]*(?:\*|\/\/)?[ \t]*\n/);
  return first.split('\n').filter((line) => /[A-Za-z]/.test(line)).length;
}

export function checkHeader(source: Source): readonly Finding[] {
  if (!isBelowSrc(source)) return [];
  const lines = headerLines(source.text);
  if (lines >= 1 && lines <= MAX_HEADER_LINES) return [];
  const message =
    lines === 0
      ? 'needs a header comment: what the file is responsible for'
      : `has a header of ${lines} lines, the limit is ${MAX_HEADER_LINES}`;
  return [{ path: source.path, line: 1, message }];
}

function emptyWord(words: readonly string[]): string | undefined {
  const ending = words.at(-1) ?? '';
  return (
    words.find((word) => EMPTY_WORD.test(word)) ?? (EMPTY_ENDING.test(ending) ? ending : undefined)
  );
}

export function checkFileName({ path }: Source): readonly Finding[] {
  const folders = path.split('/');
  const name = folders.pop() ?? '';
  const findings: Finding[] = [];
  const report = (message: string): void => void findings.push({ path, line: 1, message });
  if (!FILE_NAME.test(name)) report(`"${name}" is no kebab-case name with a known suffix`);
  const odd = folders.find((folder) => !FOLDER_NAME.test(folder));
  if (odd !== undefined) report(`the folder "${odd}" is not kebab-case`);
  const stem = name.split('.')[0] ?? '';
  const empty = emptyWord(stem.split('-')) ?? folders.find((folder) => EMPTY_WORD.test(folder));
  if (empty !== undefined) report(`"${empty}" in a name says nothing`);
  return findings;
}

export function checkTypeNames(source: Source): readonly Finding[] {
  const tree = treeOf(source);
  const findings: Finding[] = [];
  for (const node of nodesOf(tree)) {
    const named =
      ts.isClassDeclaration(node) ||
      ts.isInterfaceDeclaration(node) ||
      ts.isTypeAliasDeclaration(node);
    const name = named ? (node.name?.text ?? '') : '';
    const empty = emptyWord(name.split(/(?=[A-Z])/).map((word) => word.toLowerCase()));
    if (empty === undefined) continue;
    const message = `"${empty}" in the name ${name} says nothing`;
    findings.push({ path: source.path, line: lineOf(tree, node), message });
  }
  return findings;
}

const LEFT_OUT = new Set(['xit', 'xtest', 'xdescribe', 'fit', 'fdescribe']);
const ALONE_OR_OUT = new Set(['only', 'skip', 'todo', 'failing']);

function baseName(node: ts.Expression): string {
  if (ts.isPropertyAccessExpression(node)) return baseName(node.expression);
  return ts.isIdentifier(node) ? node.text : '';
}

/**
 * What a machine may lack is said to be skipped: the public vectors, which stay outside the repository,
 * and the browser that clicks through the dashboard.
 */
const MAY_SKIP = ['test/conformance/', 'test/dashboard/', 'test/cluster/dashboard-'];

export function checkTestsRun(source: Source): readonly Finding[] {
  const tree = treeOf(source);
  const findings: Finding[] = [];
  for (const node of nodesOf(tree)) {
    const alone =
      ts.isPropertyAccessExpression(node) &&
      ALONE_OR_OUT.has(node.name.text) &&
      ['it', 'test', 'describe'].includes(baseName(node));
    if (
      alone &&
      node.name.text === 'skip' &&
      MAY_SKIP.some((place) => source.path.startsWith(place))
    )
      continue;
    const out = ts.isCallExpression(node) && LEFT_OUT.has(baseName(node.expression));
    if (!alone && !out) continue;
    const message = `${node.getText(tree).slice(0, 40)}: every test runs`;
    findings.push({ path: source.path, line: lineOf(tree, node), message });
  }
  return findings;
}

export function checkCatches(source: Source): readonly Finding[] {
  const tree = treeOf(source);
  const findings: Finding[] = [];
  for (const node of nodesOf(tree)) {
    if (!ts.isCatchClause(node) || node.block.statements.length > 0) continue;
    if (/\/\/|\/\*/.test(node.block.getText(tree))) continue;
    const message = 'swallows an error without saying why';
    findings.push({ path: source.path, line: lineOf(tree, node), message });
  }
  return findings;
}
