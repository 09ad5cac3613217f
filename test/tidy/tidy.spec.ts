/** The house rules hold in this repository: imports, purity, sizes, names, headers, texts. */
import { checkSource, show } from './check.js';
import { listFiles, readSource } from './source.js';

const root = process.cwd();
const files = listFiles(root);

it('looks at the whole repository', () => {
  expect(files).toEqual(
    expect.arrayContaining([
      'package-lock.json',
      'src/main.ts',
      '.ci/run',
      'docs/configuration.md',
    ]),
  );
});

it('is tidy', () => {
  const findings = files.flatMap((path) => checkSource(readSource(root, path)));
  expect(findings.map(show)).toEqual([]);
});
