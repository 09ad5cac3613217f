/**
 * Whether every planted bug fits its place and compiles: a patch that is no program would count as killed
 * by whatever runs it. Prints what does not; exits 1 then.
 *
 *   node test/mutation/compile.mjs [--only <text>]
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { durabilityMutants } from './durability/mutants.mjs';
import { loadMutants, ROOMS, ROOT } from './lists.mjs';

/** What a bug may leave unused, or compare in vain, is no mistake of the patch. */
const TOLERATED = new Set([6133, 6138, 6192, 6196, 6198, 2367]);

class Project {
  constructor() {
    const path = join(ROOT, 'tsconfig.json');
    const { config } = ts.readConfigFile(path, ts.sys.readFile);
    const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
    this.patched = new Map();
    this.versions = new Map();
    const roots = fileNames.filter((name) => name.startsWith(join(ROOT, 'src')));
    this.service = ts.createLanguageService({
      getScriptFileNames: () => roots,
      getScriptVersion: (name) => String(this.versions.get(name) ?? 0),
      getScriptSnapshot: (name) => {
        const text = this.patched.get(name) ?? ts.sys.readFile(name);
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
      },
      getCurrentDirectory: () => ROOT,
      getCompilationSettings: () => ({ ...options, noEmit: true }),
      getDefaultLibFileName: (settings) => ts.getDefaultLibFilePath(settings),
      ...{ fileExists: ts.sys.fileExists, readFile: ts.sys.readFile },
      ...{ readDirectory: ts.sys.readDirectory, directoryExists: ts.sys.directoryExists },
      getDirectories: ts.sys.getDirectories,
    });
  }

  /** Undefined: the file compiles with this text. */
  complaint(file, text) {
    const name = join(ROOT, file);
    this.put(name, text);
    const found = [
      ...this.service.getSyntacticDiagnostics(name),
      ...this.service.getSemanticDiagnostics(name),
    ].find(({ code, category }) => {
      return category === ts.DiagnosticCategory.Error && !TOLERATED.has(code);
    });
    this.put(name, undefined);
    if (found === undefined) return undefined;
    return `${found.code}: ${ts.flattenDiagnosticMessageText(found.messageText, ' ')}`;
  }

  put(name, text) {
    if (text === undefined) this.patched.delete(name);
    else this.patched.set(name, text);
    this.versions.set(name, (this.versions.get(name) ?? 0) + 1);
  }
}

const at = process.argv.indexOf('--only');
const only = at < 0 ? '' : process.argv[at + 1];
const mutants = durabilityMutants();
for (const room of Object.keys(ROOMS)) mutants.push(...(await loadMutants(room)));
const project = new Project();
let failures = 0;
for (const { name, file, patched } of mutants.filter((mutant) => mutant.name.includes(only))) {
  const why =
    patched === undefined
      ? 'does not fit'
      : patched === readFileSync(join(ROOT, file), 'utf8')
        ? 'changes nothing'
        : project.complaint(file, patched);
  if (why === undefined) continue;
  failures += 1;
  process.stdout.write(`${name}: ${why}\n`);
}
process.stdout.write(`${mutants.length} mutants, ${failures} that do not fit or compile\n`);
process.exitCode = failures === 0 ? 0 : 1;
