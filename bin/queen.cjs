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
const { asksForHelp, COMMANDS, complaint, helpOf } = require('./launch/commands.cjs');
const { usage, usageOf } = require('./launch/commands.cjs');
const { heapIsAbout, holdYoungGeneration, wantedHeapMib } = require('./launch/heap.cjs');
const { raiseThreadPool } = require('./launch/pool.cjs');

const root = join(__dirname, '..');
const EXIT_USAGE = 2;

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
  const [name = 'start', ...rest] = args;
  if (name === '--help' || name === '-h' || name === 'help') {
    const [about = ''] = rest;
    process.stdout.write(Object.hasOwn(COMMANDS, about) ? helpOf(about) : usage());
  } else if (name === '--version' || name === '-v') {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    process.stdout.write(`${version}\n`);
  } else if (!Object.hasOwn(COMMANDS, name)) {
    fail(`unknown command "${name}"\n\n${usage()}`, EXIT_USAGE);
  } else if (asksForHelp(rest)) {
    process.stdout.write(helpOf(name));
  } else {
    const wrong = complaint(name, rest);
    if (wrong !== null) fail(`${name}: ${wrong}\n${usageOf(name)}`, EXIT_USAGE);
    runCommand(COMMANDS[name], args);
  }
}

main(process.argv.slice(2));
