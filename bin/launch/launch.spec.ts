/**
 * The launcher, run as real processes: thread pool, heap limit, one signal per Ctrl-C, exit codes,
 * life line, and when a clone counts as installed and built.
 */
import { spawn, spawnSync, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serverVariables } from '../../src/config/tables/server.js';

interface Heap {
  readonly DEFAULT_PCT: number;
  heapIsAbout(mib: number, currentBytes?: number): boolean;
  memoryLimitBytes(constrained: number | undefined, total: number): number;
  wantedHeapMib(env: Record<string, string>, limitBytes?: number): number | null;
}
interface Fresh {
  isInstalled(root: string): boolean;
  isBuilt(root: string): boolean;
}

const BIN = join(process.cwd(), 'bin');
const heap = jest.requireActual<Heap>('./heap.cjs');
const fresh = jest.requireActual<Fresh>('./fresh.cjs');
const MIB = 1024 * 1024;
const cleanEnv = { PATH: process.env.PATH ?? '', HOME: tmpdir() };

let root: string;
const started: ChildProcess[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'queen-launch-'));
});

afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  rmSync(root, { recursive: true, force: true });
});

function put(name: string, text: string): string {
  const file = join(root, name);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
  return file;
}

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly output: string;
}

interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Resolves with the output so far once it contains the text. */
  sees(text: string): Promise<string>;
  readonly ended: Promise<Ended>;
}

function run(args: readonly string[], options: SpawnOptions = {}): Running {
  const child = spawn(process.execPath, args, { env: cleanEnv, stdio: 'pipe', ...options });
  started.push(child);
  let output = '';
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      listeners.forEach((listener) => listener());
    });
  }
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, output }));
  });
  const sees = (text: string): Promise<string> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!output.includes(text)) return;
        listeners.delete(look);
        resolve(output);
      };
      listeners.add(look);
      look();
    });
  return { child, pid: child.pid ?? 0, sees, ended };
}

/** A script that runs `body` as the child of a launcher process. */
function underLauncher(body: string): string {
  const script = put('body.cjs', `require('${BIN}/launch/child.cjs').holdLifeline();\n${body}`);
  return put('driver.cjs', `require('${BIN}/launch/child.cjs').runAsChild('${script}');`);
}

describe('heap limit', () => {
  it('takes the container limit, else the machine', () => {
    expect(heap.memoryLimitBytes(512 * MIB, 8192 * MIB)).toBe(512 * MIB);
    expect(heap.memoryLimitBytes(0, 8192 * MIB)).toBe(8192 * MIB);
    expect(heap.memoryLimitBytes(2 ** 63, 8192 * MIB)).toBe(8192 * MIB);
    expect(heap.memoryLimitBytes(undefined, 8192 * MIB)).toBe(8192 * MIB);
  });

  it.each([
    [{}, 2048, 1024],
    [{}, 256, 256],
    [{}, 65_536, 4096],
    [{ QUEEN_HEAP_PCT: '25' }, 4096, 1024],
    [{ QUEEN_HEAP_PCT: '99' }, 1000, 900],
    [{ QUEEN_HEAP_PCT: 'x' }, 2048, 1024],
    [{ QUEEN_HEAP_PCT: '0' }, 2048, null],
    [{ NODE_OPTIONS: '--max-old-space-size=100' }, 2048, null],
    [{ NODE_OPTIONS: '--max_old_space_size=100' }, 2048, null],
  ])('%j of %p MiB: %p', (env, limitMib, expected) => {
    expect(heap.wantedHeapMib(env, limitMib * MIB)).toBe(expected);
  });

  it('has the default of the environment table', () => {
    expect(serverVariables.heapPct.fallback).toBe(heap.DEFAULT_PCT);
  });
});

describe('queen.cjs', () => {
  const main = `
    import { stat } from 'node:fs/promises';
    import { existsSync, readdirSync } from 'node:fs';
    import v8 from 'node:v8';
    await stat('.');
    const survivors = [];
    for (let i = 0; i < 300_000; i += 1) survivors[i % 100_000] = { i };
    const young = v8.getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
    console.log(JSON.stringify({
      youngMib: young.space_size / 1048576,
      pid: process.pid,
      heapMib: v8.getHeapStatistics().heap_size_limit / 1048576,
      pool: process.env.UV_THREADPOOL_SIZE,
      threads: existsSync('/proc/self/task') ? readdirSync('/proc/self/task').length : 99,
      lifeline: process.env.QUEEN_LIFELINE ?? null,
    }));`;

  interface Report {
    readonly pid: number;
    readonly heapMib: number;
    readonly youngMib: number;
    readonly pool: string;
    readonly threads: number;
    readonly lifeline: string | null;
  }

  async function report(env: Record<string, string>): Promise<Report & { launcher: number }> {
    cpSync(BIN, join(root, 'bin'), { recursive: true });
    put('package.json', '{"type":"module","version":"1.2.3"}');
    put('dist/main.js', main);
    const running = run([join(root, 'bin', 'queen.cjs')], { env: { ...cleanEnv, ...env } });
    const { output, code } = await running.ended;
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('pid') as string });
    return { ...(JSON.parse(output) as Report), launcher: running.pid };
  }

  it('starts the pool with 16 threads, in its own process when the heap fits', async () => {
    const seen = await report({ NODE_OPTIONS: '--max-old-space-size=300' });
    expect(seen.pid).toBe(seen.launcher);
    expect(seen.pool).toBe('16');
    expect(seen.threads).toBeGreaterThan(16);
  });

  it('holds the young generation at its first size until the broker lets it grow', async () => {
    const seen = await report({ QUEEN_HEAP_PCT: '0' });
    expect(seen.youngMib).toBeLessThanOrEqual(4);
  });

  it('keeps a larger pool', async () => {
    const seen = await report({ QUEEN_HEAP_PCT: '0', UV_THREADPOOL_SIZE: '24' });
    expect(seen.pool).toBe('24');
    expect(seen.threads).toBeGreaterThan(24);
  });

  it('gives the heap its limit in a child when Node would choose another', async () => {
    const wanted = heap.wantedHeapMib({ QUEEN_HEAP_PCT: '2' }) ?? 0;
    expect(heap.heapIsAbout(wanted)).toBe(false);
    const seen = await report({ QUEEN_HEAP_PCT: '2' });
    expect(seen.pid).not.toBe(seen.launcher);
    expect(seen.heapMib).toBeGreaterThanOrEqual(wanted);
    expect(seen.heapMib).toBeLessThan(wanted + 100);
    expect(seen).toMatchObject({ pool: '16', lifeline: null });
  });

  it('prints version and usage, and refuses what it does not know', () => {
    const queen = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
      spawnSync(process.execPath, [join(BIN, 'queen.cjs'), ...args], { encoding: 'utf8' });
    expect(queen('--version').stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(queen('--help').stdout).toContain('Usage: queen');
    const unknown = queen('frobnicate');
    expect(unknown.status).toBe(2);
    expect(unknown.stderr).toContain('unknown command "frobnicate"');
    expect(unknown.stderr).toContain('Usage: queen');
  });
});

describe('the commands of queen.cjs', () => {
  const NAMES = ['start', 'backup', 'repair', 'restore', 'verify'];

  /** Commands that leave a file behind when they run. */
  function queen(...args: string[]): { status: number | null; stdout: string; stderr: string } {
    cpSync(BIN, join(root, 'bin'), { recursive: true });
    put('package.json', '{"type":"module","version":"1.2.3"}');
    const body = `import { writeFileSync } from 'node:fs'; writeFileSync('ran', process.argv.join(' '));`;
    for (const name of ['main', ...NAMES]) put(`dist/${name}.js`, body);
    const env = { ...cleanEnv, QUEEN_HEAP_PCT: '0' };
    return spawnSync(process.execPath, [join(root, 'bin', 'queen.cjs'), ...args], {
      ...{ cwd: root, encoding: 'utf8', env },
    });
  }

  it.each(
    NAMES.flatMap((name) => [
      [name, '--help'],
      [name, '-h'],
      ['help', name],
    ]),
  )('queen %s %s prints its help and does nothing', (...args) => {
    const { status, stdout } = queen(...args);
    const name = args.find((word) => NAMES.includes(word)) ?? '';
    expect(status).toBe(0);
    expect(stdout).toMatch(new RegExp(`^usage: queen ${name}\\b`));
    expect(existsSync(join(root, 'ran'))).toBe(false);
  });

  it.each(
    NAMES.flatMap((name) => [
      [name, '--frobnicate'],
      [name, 'one', 'two'],
    ]),
  )('queen %s %s ends with 2 and its usage, and does nothing', (...args) => {
    const { status, stderr } = queen(...args);
    expect(status).toBe(2);
    expect(stderr).toContain(`usage: queen ${args[0]}`);
    expect(existsSync(join(root, 'ran'))).toBe(false);
  });

  it.each([
    [[]],
    [['start']],
    [['repair']],
    [['backup', '--to=x', '--url', 'http://h:1/', '--token', 't']],
    [['restore', '--from', 'x']],
    [['verify', 'x', '--json', '--at=7', '--scratch', 'y']],
  ])('queen %j runs', (args) => {
    expect(queen(...args)).toMatchObject({ status: 0, stderr: '' });
    expect(readFileSync(join(root, 'ran'), 'utf8')).toContain(args.join(' '));
  });

  it('tells where data lies, and how it is called in a clone', () => {
    const { stdout } = queen('--help');
    for (const text of ['/var/lib/queen/raft', './data', 'npx queen'])
      expect(stdout).toContain(text);
  });
});

describe('a broker under npm start', () => {
  const counting = `
    let count = 0;
    process.on('SIGINT', () => {
      count += 1;
      setTimeout(() => { console.log('signals ' + count); process.exit(7); }, 400);
    });
    setInterval(() => {}, 1000);
    console.log('ready');`;

  it('gets one signal from a Ctrl-C that arrives twice, and its exit code passes', async () => {
    // The whole group is signalled as a terminal does, then the launcher once more as npm does.
    const running = run([underLauncher(counting)], { detached: true });
    await running.sees('ready');
    process.kill(-running.pid, 'SIGINT');
    process.kill(running.pid, 'SIGINT');
    const { code, output } = await running.ended;
    expect(output).toContain('signals 1');
    expect(code).toBe(7);
  });

  it.each([0, 1, 75])('passes exit code %p', async (code) => {
    const running = run([underLauncher(`process.exit(${code});`)]);
    expect(await running.ended).toMatchObject({ code, signal: null });
  });

  it('ends by the signal that ended the broker', async () => {
    const running = run([underLauncher(`process.kill(process.pid, 'SIGKILL');`)]);
    expect(await running.ended).toMatchObject({ code: null, signal: 'SIGKILL' });
  });

  it('dies with a launcher that was killed', async () => {
    // Left alone it would end by itself, after this test has failed.
    const body = `setTimeout(() => {}, 8000); console.log('up');`;
    const running = run([underLauncher(body)]);
    await running.sees('up');
    process.kill(running.pid, 'SIGKILL');
    // The pipe is shared with the broker: it closes only when both are gone.
    expect(await running.ended).toMatchObject({ signal: 'SIGKILL' });
  });
});

describe('a fresh clone', () => {
  const lock = (packages: object): string => JSON.stringify({ packages });

  it('is installed when every locked package is there in its version', () => {
    const needed = { '': { version: '9' }, 'node_modules/a': { version: '1.0.0' } };
    const optional = { 'node_modules/b': { version: '1.0.0', optional: true } };
    put('package-lock.json', lock({ ...needed, ...optional }));
    expect(fresh.isInstalled(root)).toBe(false);
    put('node_modules/.package-lock.json', lock({ 'node_modules/a': { version: '1.0.0' } }));
    expect(fresh.isInstalled(root)).toBe(true);
    put('node_modules/.package-lock.json', lock({ 'node_modules/a': { version: '0.9.0' } }));
    expect(fresh.isInstalled(root)).toBe(false);
  });

  it('is built when no source is newer than the build', () => {
    const source = put('src/a/x.ts', '');
    const at = (file: string, seconds: number): void => utimesSync(file, seconds, seconds);
    const folders = ['src', 'src/a'].map((name) => join(root, name));
    for (const path of [source, ...folders]) at(path, 1000);
    expect(fresh.isBuilt(root)).toBe(false);
    const built = put('dist/main.js', '');
    at(built, 2000);
    expect(fresh.isBuilt(root)).toBe(true);
    at(source, 3000);
    expect(fresh.isBuilt(root)).toBe(false);
    at(source, 1000);
    at(join(root, 'src/a'), 3000);
    expect(fresh.isBuilt(root)).toBe(false);
  });
});
