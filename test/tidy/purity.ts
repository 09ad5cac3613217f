/**
 * Pure rooms are functions of their input: the same log gives the same state on every node, and the
 * simulator replays a seed exactly. So no clock, no randomness, no promise, no process and no console,
 * not even as a type.
 */
import ts from 'typescript';
import { placeOf, ROOMS } from './rooms.js';
import {
  isBelowSrc,
  isSpec,
  lineOf,
  nodesOf,
  treeOf,
  type Finding,
  type Source,
} from './source.js';

const BANNED = new Set([
  'Promise',
  'Date',
  'console',
  'process',
  'performance',
  'crypto',
  'fetch',
  'require',
  'globalThis',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'clearTimeout',
  'clearInterval',
  'queueMicrotask',
  'FinalizationRegistry',
  'WeakRef',
]);

/** `x.process`, `{ process: … }` and a member called `process` are somebody else's names. */
function isMemberName(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node;
  if (ts.isQualifiedName(parent)) return parent.right === node;
  const isMember =
    ts.isPropertyAssignment(parent) ||
    ts.isPropertySignature(parent) ||
    ts.isPropertyDeclaration(parent) ||
    ts.isMethodDeclaration(parent) ||
    ts.isMethodSignature(parent) ||
    ts.isEnumMember(parent);
  return isMember && parent.name === node;
}

function impurity(node: ts.Node): string | null {
  if (ts.isIdentifier(node)) return BANNED.has(node.text) && !isMemberName(node) ? node.text : null;
  if (node.kind === ts.SyntaxKind.AsyncKeyword) return 'async';
  if (ts.isAwaitExpression(node)) return 'await';
  if (ts.isPropertyAccessExpression(node) && node.getText() === 'Math.random') return 'Math.random';
  return null;
}

export function checkPurity(source: Source): readonly Finding[] {
  if (!isBelowSrc(source) || isSpec(source)) return [];
  const { room } = placeOf(source.path.slice('src/'.length));
  if (room === null || ROOMS[room]?.pure !== true) return [];
  const tree = treeOf(source);
  const findings: Finding[] = [];
  for (const node of nodesOf(tree)) {
    const what = impurity(node);
    if (what === null) continue;
    const message = `${what} in the pure room ${room}`;
    findings.push({ path: source.path, line: lineOf(tree, node), message });
  }
  return findings;
}
