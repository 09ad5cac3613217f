/**
 * A file as the checks see it: path from the repository's root, text, and for TypeScript its syntax
 * tree. Plus the walk over what belongs to the repository.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

export interface Source {
  /** With forward slashes, from the root of the repository. */
  readonly path: string;
  readonly text: string;
}

export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

const NOT_OURS = new Set(['.git', 'node_modules', 'dist', 'coverage', 'data']);
const TEXT = /\.(ts|js|mjs|cjs|json|md|ya?ml|sh|txt|html|css|tpl)$|^[^.]*$|^\.[a-z]+(rc|ignore)$/;

export function listFiles(root: string, below = ''): readonly string[] {
  return readdirSync(join(root, below), { withFileTypes: true }).flatMap((entry) => {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (NOT_OURS.has(entry.name)) return [];
    if (entry.isDirectory()) return listFiles(root, path);
    return entry.isFile() && TEXT.test(entry.name) ? [path] : [];
  });
}

export function readSource(root: string, path: string): Source {
  return { path, text: readFileSync(join(root, path), 'utf8') };
}

export const isTypeScript = ({ path }: Source): boolean => path.endsWith('.ts');
export const isSpec = ({ path }: Source): boolean => path.endsWith('.spec.ts');
export const isBelowSrc = ({ path }: Source): boolean => path.startsWith('src/');

const trees = new WeakMap<Source, ts.SourceFile>();

/** Parsed once per source, whatever the number of checks. */
export function treeOf(source: Source): ts.SourceFile {
  const known = trees.get(source);
  if (known !== undefined) return known;
  const tree = ts.createSourceFile(source.path, source.text, ts.ScriptTarget.ES2023, true);
  trees.set(source, tree);
  return tree;
}

export function lineOf(tree: ts.SourceFile, node: ts.Node): number {
  return tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
}

/** Every node, parents first. */
export function* nodesOf(node: ts.Node): Generator<ts.Node> {
  yield node;
  const children: ts.Node[] = [];
  ts.forEachChild(node, (child) => void children.push(child));
  for (const child of children) yield* nodesOf(child);
}
