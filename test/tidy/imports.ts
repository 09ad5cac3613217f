/**
 * Who imports whom. Specs are free: a unit spec may build what it needs. Sources below src/ keep to
 * the table in `rooms.ts`, never import from test/, and a pure room imports no package at all.
 */
import { posix } from 'node:path';
import ts from 'typescript';
import { mayImport, placeOf, ROOMS } from './rooms.js';
import {
  isBelowSrc,
  isSpec,
  lineOf,
  nodesOf,
  treeOf,
  type Finding,
  type Source,
} from './source.js';

interface Imported {
  readonly from: string;
  readonly onlyTypes: boolean;
  readonly line: number;
}

function clauseIsTypes(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const { name, namedBindings } = clause;
  if (name !== undefined || namedBindings === undefined) return false;
  return ts.isNamedImports(namedBindings) && namedBindings.elements.every((one) => one.isTypeOnly);
}

function importOf(tree: ts.SourceFile, node: ts.Node): Imported | null {
  const line = lineOf(tree, node);
  if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
    return { from: node.moduleSpecifier.text, onlyTypes: clauseIsTypes(node.importClause), line };
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
    const from = node.moduleSpecifier;
    return ts.isStringLiteral(from) ? { from: from.text, onlyTypes: node.isTypeOnly, line } : null;
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    const { literal } = node.argument;
    return ts.isStringLiteral(literal) ? { from: literal.text, onlyTypes: true, line } : null;
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    const [from] = node.arguments;
    const text = from !== undefined && ts.isStringLiteral(from) ? from.text : '<computed>';
    return { from: text, onlyTypes: false, line };
  }
  return null;
}

function refusal(path: string, { from, onlyTypes }: Imported): string | null {
  const here = placeOf(path.slice('src/'.length));
  if (here.room === null) return 'lies in a folder that is no room of ARCHITECTURE.md §8';
  if (!from.startsWith('.')) {
    const pure = ROOMS[here.room]?.pure === true;
    return pure ? `"${from}": the pure room ${here.room} imports no package` : null;
  }
  const target = posix.join(posix.dirname(path), from);
  if (!target.startsWith('src/')) return `"${from}" leads out of src/`;
  const there = placeOf(target.slice('src/'.length));
  if (mayImport(here, there, onlyTypes)) return null;
  const kind = onlyTypes ? 'types of ' : '';
  return `${here.room} may not import ${kind}${there.path}`;
}

export function checkImports(source: Source): readonly Finding[] {
  if (!isBelowSrc(source) || isSpec(source)) return [];
  const tree = treeOf(source);
  const findings: Finding[] = [];
  for (const node of nodesOf(tree)) {
    const imported = importOf(tree, node);
    const message = imported === null ? null : refusal(source.path, imported);
    if (imported !== null && message !== null) {
      findings.push({ path: source.path, line: imported.line, message });
    }
  }
  return findings;
}
