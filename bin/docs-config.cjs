/**
 * `npm run docs:config`: writes docs/configuration.md from the environment table. Runs on the built
 * broker, so that there is one implementation of the page.
 */
'use strict';

const { writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');

const root = join(__dirname, '..');

async function main() {
  const module = join(root, 'dist', 'config', 'markdown.js');
  const { configurationPage } = await import(pathToFileURL(module).href);
  writeFileSync(join(root, 'docs', 'configuration.md'), configurationPage());
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
