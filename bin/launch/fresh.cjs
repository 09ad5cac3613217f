/**
 * Brings a clone to the state where it can run, with nothing but Node and npm: dependencies as locked,
 * and a build of the sources as they are. Does nothing when there is nothing to do.
 */
'use strict';

const { spawnSync } = require('node:child_process');
const { existsSync, readFileSync, readdirSync, statSync } = require('node:fs');
const { join } = require('node:path');

const BUILD_INPUTS = ['src', '.swcrc', 'nest-cli.json', 'tsconfig.json', 'package-lock.json'];

function packagesOf(file) {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')).packages ?? {}) : {};
}

/** True when every locked package is installed in its locked version; optional ones may be absent. */
function isInstalled(root) {
  const installed = packagesOf(join(root, 'node_modules', '.package-lock.json'));
  return Object.entries(packagesOf(join(root, 'package-lock.json'))).every(([path, locked]) => {
    const version = installed[path]?.version;
    if (path === '' || version === locked.version) return true;
    return version === undefined && (locked.optional === true || locked.devOptional === true);
  });
}

/** Newest change below a path; a folder's own time tells of removed files. */
function newestMs(path) {
  if (!existsSync(path)) return 0;
  const stat = statSync(path);
  if (!stat.isDirectory()) return path.endsWith('.spec.ts') ? 0 : stat.mtimeMs;
  const below = readdirSync(path).map((name) => newestMs(join(path, name)));
  return Math.max(stat.mtimeMs, ...below);
}

function isBuilt(root) {
  const page = join(root, 'dist', 'dashboard', 'public', 'index.html');
  if (existsSync(join(root, 'src', 'dashboard')) && !existsSync(page)) return false;
  const builtMs = newestMs(join(root, 'dist', 'main.js'));
  return BUILD_INPUTS.every((name) => newestMs(join(root, name)) <= builtMs);
}

/** Runs npm as the npm that started us, if one did. Ends this process when npm fails. */
function npm(root, args) {
  const cli = process.env.npm_execpath ?? '';
  const own = /npm-cli\.[cm]?js$/.test(cli);
  const options = { cwd: root, stdio: 'inherit', shell: !own && process.platform === 'win32' };
  const result = own
    ? spawnSync(process.execPath, [cli, ...args], options)
    : spawnSync('npm', args, options);
  if (result.error) console.error(`queen: npm ${args[0]}: ${result.error.message}`);
  if (result.status !== 0) process.exit(result.status ?? 1);
}

function ensureInstalled(root) {
  if (isInstalled(root)) return;
  console.error('queen: installing dependencies (npm ci)');
  npm(root, ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']);
}

function ensureBuilt(root) {
  if (isBuilt(root)) return;
  console.error('queen: building');
  npm(root, ['run', '--silent', 'build']);
}

/** Ends this process with a hint when Node is too old for the sources. */
function requireNode(root) {
  const needed = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).engines.node;
  const [major, minor] = needed.replace(/^\D+/, '').split('.').map(Number);
  const [ownMajor, ownMinor] = process.versions.node.split('.').map(Number);
  if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) return;
  console.error(`queen: needs Node ${needed}, this is ${process.version}`);
  process.exit(1);
}

module.exports = { ensureBuilt, ensureInstalled, isBuilt, isInstalled, requireNode };
