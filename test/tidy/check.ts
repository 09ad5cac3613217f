/** All checks of one file, by what kind of file it is. */
import { checkImports } from './imports.js';
import { checkPurity } from './purity.js';
import {
  checkCatches,
  checkFileName,
  checkHeader,
  checkSize,
  checkTestsRun,
  checkTypeNames,
} from './shape.js';
import { isTypeScript, type Finding, type Source } from './source.js';
import { checkLockFile, checkTexts } from './texts.js';

const FOR_ALL = [checkTexts, checkLockFile];
const FOR_TYPESCRIPT = [
  checkImports,
  checkPurity,
  checkSize,
  checkHeader,
  checkFileName,
  checkTypeNames,
  checkTestsRun,
  checkCatches,
];

export function checkSource(source: Source): readonly Finding[] {
  const checks = isTypeScript(source) ? [...FOR_ALL, ...FOR_TYPESCRIPT] : FOR_ALL;
  return checks.flatMap((check) => check(source));
}

export const show = ({ path, line, message }: Finding): string => `${path}:${line} ${message}`;
