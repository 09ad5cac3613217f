#!/usr/bin/env node
/**
 * Launcher and command line of the broker. Sets what must be set before Node's thread pool and heap
 * exist, then loads the command. CommonJS on purpose: loading an ES module already uses the pool.
 * The broker runs in this very process (one process id to watch, kill and limit) unless the heap
 * limit has to differ from Node's own; then it runs in a child that follows this process.
 */
'use strict';

const { existsSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const { holdLifeline, runAsChild } = require('./launch/child.cjs');
const { heapIsAbout, holdYoungGeneration, wantedHeapMib } = require('./launch/heap.cjs');
const { raiseThreadPool } = require('./launch/pool.cjs');

const root = join(__dirname, '..');
const EXIT_USAGE = 2;

/** Each command is a module of dist/ that runs when it is imported. */
const COMMANDS = {
  start: { module: 'main.js', summary: 'run the broker (the default)' },
  backup: {
    module: 'backup.js',
    summary: '--to DIR [--url URL]: copy the state of a running node',
  },
  repair: {
    module: 'repair.js',
    summary: 'check the log of a stopped node, rebuild what is damaged from its peers',
  },
  restore: { module: 'restore.js', summary: '--from DIR: fill an empty QUEEN_RAFT_DIR' },
  verify: {
    module: 'verify.js',
    summary: '[DIR] [--json]: check the data of a stopped node, or a backup; changes nothing',
  },
};

function usage() {
  const rows = Object.entries(COMMANDS).map(
    ([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`,
  );
  return `Usage: queen [command]

Commands:
${rows.join('\n')}

Options:
  --version  print the version
  --help     print this text

Settings are environment variables: docs/configuration.md
`;
}

function fail(message, code) {
  process.stderr.write(`queen: ${message}\n`);
  process.exit(code);
}

function runCommand(command, args) {
  raiseThreadPool();
  const heapMib = wantedHeapMib();
  if (heapMib !== null && !heapIsAbout(heapMib)) {
    runAsChild(__filename, { args, nodeFlags: [`--max-old-space-size=${heapMib}`] });
    return;
  }
  holdLifeline();
  if (command === COMMANDS.start) holdYoungGeneration();
  const file = join(root, 'dist', command.module);
  if (!existsSync(file)) fail(`${file} is missing: run "npm run build", or "npm start"`, 1);
  import(pathToFileURL(file).href).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}

function main(args) {
  const [name = 'start'] = args;
  if (name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(usage());
  } else if (name === '--version' || name === '-v') {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    process.stdout.write(`${version}\n`);
  } else if (Object.hasOwn(COMMANDS, name)) {
    runCommand(COMMANDS[name], args);
  } else {
    fail(`unknown command "${name}"\n\n${usage()}`, EXIT_USAGE);
  }
}

main(process.argv.slice(2));
