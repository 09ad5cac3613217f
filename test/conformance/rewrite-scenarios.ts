/**
 * Author's tool: writes the produced output into our own scenario files. Review the diff line by line;
 * a scenario is only worth what its reviewer understood. Used by interaction.spec.ts when
 * QUEEN_REWRITE_SCENARIOS=1 is set.
 */
import { writeFileSync } from 'node:fs';
import { parseScript, readText } from './datadriven.js';
import { InteractionScript } from './interaction-script.js';

export function rewriteScenario(path: string): void {
  const text = readText(path);
  const lines = text.split('\n');
  const script = new InteractionScript();
  const output: string[] = [];
  let at = 0;
  for (const directive of parseScript(text)) {
    const separator = lines.indexOf('----', directive.line - 1);
    output.push(...lines.slice(at, separator + 1), script.handle(directive));
    const blank = lines.indexOf('', separator + 1);
    at = blank < 0 ? lines.length : blank;
  }
  output.push(...lines.slice(at));
  writeFileSync(path, `${output.join('\n').trimEnd()}\n`);
}
