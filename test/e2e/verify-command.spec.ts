/**
 * The command `queen verify`: exit codes, lines and document, the lock, several raft groups, and a member
 * of a cluster.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { runVerify } from '../../src/lifecycle/verify-command.js';
import { TestBroker } from '../support/broker.js';
import { copyOf, damagesOf, verified } from '../support/verify-scene.js';
import { Calls } from './calls.js';

jest.setTimeout(180_000);

let root: string;
let stopped: string;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'queen-sound-'));
  stopped = await stoppedNode('one');
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** The directory of a node that took a message and was stopped. */
async function stoppedNode(name: string, env: Record<string, string> = {}): Promise<string> {
  const directory = join(root, name);
  const broker = await TestBroker.start(env);
  try {
    await new Calls(broker).push('q', 'a', 'b');
    await broker.nest.close();
    cpSync(broker.directory, directory, { recursive: true });
  } finally {
    await broker.stop();
  }
  return directory;
}

it('reads every raft group, and names the one that is damaged', async () => {
  const directory = await stoppedNode('groups', { QUEEN_RAFT_GROUPS: '2' });
  const report = await verified(directory);
  expect(damagesOf(report)).toEqual([]);
  expect(report.groups.map(({ group, end }) => [group, end !== null])).toEqual([
    [0, true],
    [1, true],
  ]);
  rmSync(join(directory, 'groups', 'g1', 'wal', 'manifest'));
  const damaged = await verified(directory);
  expect(damaged.groups.map(({ isSound }) => isSound)).toEqual([true, false]);
  expect(damagesOf(damaged)[0]).toContain('g1/wal/manifest');
  rmSync(join(directory, 'raft-groups'));
  expect(damagesOf(await verified(directory))[0]).toContain('raft-groups is missing');
});

it('reads the directory of a member, as far as it is committed', async () => {
  const directory = await stoppedNode('member', { QUEEN_RAFT_REPLICATOR: 'openraft' });
  const report = await verified(directory);
  expect(damagesOf(report)).toEqual([]);
  const [group] = report.groups;
  expect(group).toMatchObject({ clusterId: 'cluster', read: { messages: 2 } });
  expect(group!.end!.index).toBeGreaterThanOrEqual(group!.checkpoint!.index);
  expect(group!.end!.index + group!.uncommitted).toBe(group!.log!.lastIndex);
});

describe('the command', () => {
  let written: string[];

  beforeEach(() => {
    written = [];
    for (const stream of [process.stdout, process.stderr]) {
      jest.spyOn(stream, 'write').mockImplementation((text) => {
        written.push(String(text));
        return true;
      });
    }
  });
  afterEach(() => {
    jest.restoreAllMocks();
    process.exitCode = 0;
  });

  async function run(...args: string[]): Promise<{ code: unknown; out: string }> {
    await runVerify(args);
    return { code: process.exitCode, out: written.join('') };
  }

  it('ends with 0 and the digest for a sound directory', async () => {
    const { code, out } = await run(stopped);
    expect(code).toBe(0);
    expect(out).toMatch(/group 0: state index \d+ term \d+ digest [0-9a-f]{16}\n/);
    expect(out).toContain(`sound: data directory ${stopped}`);
  });

  it('ends with 1 and one line per finding for a damaged one, and as JSON', async () => {
    const directory = copyOf(stopped);
    renameSync(join(directory, 'wal', 'manifest'), join(root, 'manifest-away'));
    const { code, out } = await run(directory);
    expect(code).toBe(1);
    expect(out).toMatch(/^DAMAGE group 0: .*the manifest is missing.*$/m);
    written = [];
    const json = await run(directory, '--json');
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({
      isSound: false,
      groups: [
        {
          findings: [
            { severity: 'damage', file: join(directory, 'wal', 'manifest'), byteOffset: 0 },
            { severity: 'note', file: null },
          ],
        },
      ],
    });
  });

  it('looks where start, restore and repair do when nothing is named', async () => {
    const before = process.env.QUEEN_RAFT_DIR;
    delete process.env.QUEEN_RAFT_DIR;
    try {
      const { out } = await run();
      expect(out).toContain('/var/lib/queen/raft');
      expect(out).not.toContain('usage');
    } finally {
      if (before !== undefined) process.env.QUEEN_RAFT_DIR = before;
    }
  });

  it.each<[string, () => string[], RegExp]>([
    ['no such directory', () => [join(root, 'nowhere')], /is no directory/],
    ['an empty directory', () => [mkdtempSync(join(root, 'e-'))], /neither a data directory nor/],
    ['an option it does not know', () => [stopped, '--force'], /usage: queen verify/],
    ['two directories', () => [stopped, root], /usage: queen verify/],
    ['a scratch in the directory', () => [stopped, '--scratch', stopped], /cannot be made inside/],
    ['no index', () => [stopped, '--at', 'x'], /usage: queen verify/],
  ])('ends with 2 for %s', async (_, args, says) => {
    const { code, out } = await run(...args());
    expect(code).toBe(2);
    expect(out).toMatch(says);
  });

  it('ends with 2 while a broker runs in it, and says so', async () => {
    const directory = copyOf(stopped);
    const holder = await holdLock(directory);
    try {
      const { code, out } = await run(directory);
      expect(code).toBe(2);
      expect(out).toContain(`${basename(directory)} is in use by another process`);
    } finally {
      await new Promise((resolve) => {
        holder.once('exit', resolve);
        holder.kill();
      });
    }
    expect((await run(directory)).code).toBe(0);
  });
});

/** Another process with the lock of a broker in its hands. */
function holdLock(directory: string): Promise<ChildProcess> {
  const code =
    "const { ClassicLevel } = require('classic-level');" +
    'new ClassicLevel(process.argv[1]).open().then(() => {' +
    "process.stdout.write('held'); setInterval(() => undefined, 1000); });";
  const child = spawn(process.execPath, ['-e', code, join(directory, 'lock')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    child.once('exit', (status) => reject(new Error(`the holder ended with ${status}`)));
    child.stdout.once('data', () => {
      child.removeAllListeners('exit');
      resolve(child);
    });
  });
}
