/**
 * Size of libuv's thread pool. With Node's default of 4 a log write waits seconds behind busy store
 * reads (ARCHITECTURE.md §5). The pool reads the variable when it is first used, so this must run
 * before anything asynchronous touches a file: in the launcher, before `import()`.
 */
'use strict';

const MIN_THREADS = 16;

function raiseThreadPool(env = process.env) {
  const threads = Number(env.UV_THREADPOOL_SIZE ?? 0);
  if (!(threads >= MIN_THREADS)) env.UV_THREADPOOL_SIZE = String(MIN_THREADS);
}

module.exports = { MIN_THREADS, raiseThreadPool };
