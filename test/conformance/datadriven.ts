/**
 * Reader of the line-oriented script format described in raft-testdata/README.md: directives with a
 * command line, optional input and the expected output. Knows nothing about raft.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export interface Argument {
  readonly key: string;
  readonly values: readonly string[];
}

export interface Directive {
  readonly line: number;
  readonly command: string;
  readonly args: readonly Argument[];
  readonly input: string;
  readonly expected: string;
}

/** Folder of the shared vectors, or undefined when this checkout has none beside it. */
export function findTestdata(): string | undefined {
  const named = process.env['QUEEN_RAFT_TESTDATA'];
  if (named !== undefined && named !== '') {
    if (!existsSync(named)) throw new Error(`QUEEN_RAFT_TESTDATA does not exist: ${named}`);
    return named;
  }
  const sibling = resolve(__dirname, '../../../shared/raft-testdata');
  return existsSync(sibling) ? sibling : undefined;
}

export function scriptFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.txt'))
    .sort()
    .map((name) => join(folder, name));
}

export function readScript(path: string): Directive[] {
  return parseScript(readText(path));
}

export function readText(path: string): string {
  return readFileSync(path, 'utf8');
}

export function parseScript(text: string): Directive[] {
  const lines = text.split('\n');
  const directives: Directive[] = [];
  let at = 0;
  const atEnd = (): boolean => at >= lines.length;
  while (!atEnd()) {
    const start = (lines[at] ?? '').trim();
    if (start === '' || start.startsWith('#')) {
      at += 1;
      continue;
    }
    const line = at + 1;
    at += 1;
    const input: string[] = [];
    while (!atEnd() && lines[at] !== '----') input.push(lines[at++] ?? '');
    if (atEnd()) throw new Error(`line ${line}: directive without ----`);
    at += 1;
    const expected: string[] = [];
    while (!atEnd() && lines[at] !== '') expected.push(lines[at++] ?? '');
    const [command, ...args] = parseCommand(start);
    directives.push({
      line,
      command: command?.key ?? '',
      args,
      input: input.join('\n').trim(),
      expected: `${expected.join('\n')}\n`,
    });
  }
  return directives;
}

function parseCommand(text: string): Argument[] {
  const result: Argument[] = [];
  const token = /\s*([^\s=]+)(?:=(\((?:[^()]|\([^()]*\))*\)|\S*))?/y;
  while (token.lastIndex < text.length) {
    const match = token.exec(text);
    if (match === null) break;
    result.push({ key: match[1] ?? '', values: parseValues(match[2]) });
  }
  return result;
}

function parseValues(text: string | undefined): string[] {
  if (text === undefined) return [];
  if (!text.startsWith('(')) return [text];
  const inner = text.slice(1, -1).trim();
  return inner === '' ? [] : inner.split(/\s*,\s*/);
}

export function findArg(directive: Directive, key: string): Argument | undefined {
  return directive.args.find((arg) => arg.key === key);
}

/** Compares a whole file and describes the first mismatch; undefined when everything matched. */
export function runScript(
  directives: readonly Directive[],
  handle: (directive: Directive) => string,
  normalize: (text: string) => string = (text) => text,
): string | undefined {
  for (const directive of directives) {
    const produced = `${handle(directive).replace(/\n+$/, '')}\n`;
    const expected = normalize(directive.expected);
    if (normalize(produced) !== expected) {
      return [
        `line ${directive.line}: ${directive.command}`,
        '--- expected',
        expected,
        '--- produced',
        normalize(produced),
      ].join('\n');
    }
  }
  return undefined;
}
