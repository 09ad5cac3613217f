/**
 * Runs a Node script as the one child of this process and is transparent to it: stop signals reach
 * the child exactly once, the exit code comes back unchanged, and neither outlives the other.
 *
 * Ctrl-C reaches every process of the terminal's group, and npm forwards it as well; so the child
 * gets a group of its own, only this process passes signals on, and repeats within a second are the
 * same Ctrl-C.
 */
'use strict';

const { spawn } = require('node:child_process');

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const REPEAT_MS = 1000;
/** Tells the child that its channel is a life line and nothing else. */
const LIFELINE = 'QUEEN_LIFELINE';

/** Passes the first of several stop signals that arrive together. */
function forwardSignals(child) {
  let passedAt = -Infinity;
  for (const signal of STOP_SIGNALS) {
    process.on(signal, () => {
      if (performance.now() - passedAt < REPEAT_MS) return;
      passedAt = performance.now();
      child.kill(signal);
    });
  }
}

/** Ends this process the way the child ended: same code, or same signal. */
function endLike(code, signal) {
  if (signal === null) process.exit(code ?? 1);
  for (const name of STOP_SIGNALS) process.removeAllListeners(name);
  process.kill(process.pid, signal);
}

/** `nodeFlags` come before the script. Never returns while the child lives. */
function runAsChild(script, { args = [], nodeFlags = [], env = process.env } = {}) {
  const child = spawn(process.execPath, [...process.execArgv, ...nodeFlags, script, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    detached: process.platform !== 'win32',
    env: { ...env, [LIFELINE]: '1' },
  });
  forwardSignals(child);
  child.on('exit', endLike);
  child.on('error', (error) => {
    console.error(`queen: cannot start ${process.execPath}: ${error.message}`);
    process.exit(1);
  });
  return child;
}

/**
 * In the child: dies with a parent that was killed (a second broker on the same directory could be
 * started otherwise), without keeping the process alive for it.
 */
function holdLifeline() {
  if (process.env[LIFELINE] === undefined) return;
  delete process.env[LIFELINE];
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.channel?.unref();
}

module.exports = { holdLifeline, runAsChild };
