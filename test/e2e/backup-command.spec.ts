/**
 * The command `queen backup`: where it writes and where it never does, what an earlier backup is worth
 * while the next one is made, and what it says when it is called wrongly or nobody answers.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import fsPromises from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runBackup, runRestore } from '../../src/lifecycle/backup-commands.js';
import { lockDirectory } from '../../src/raft/directory-lock.js';
import { readBackup } from '../../src/raft/snapshot/restore.js';
import { TestBroker } from '../support/broker.js';
import { Calls } from './calls.js';

let broker: TestBroker;
let root: string;
let cut: Server;

beforeAll(async () => {
  // Its first minute row makes a directory: not while somebody looks whether nothing was written.
  broker = await TestBroker.start({ METRICS_FLUSH_MS: '3600000' });
  await new Calls(broker).push('q', 'a', 'b');
  cut = createServer((request, response) => void cutAnswer(request.url ?? '', response));
  await new Promise<void>((resolve) => void cut.listen(0, '127.0.0.1', resolve));
});

afterAll(async () => {
  await new Promise((resolve) => cut.close(resolve));
  await broker.stop();
});

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'queen-target-'));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

/** The broker's answer, of a backup only its first half: then the connection breaks. */
async function cutAnswer(
  path: string,
  response: { write(bytes: Uint8Array, done: () => void): void; end(text: string): void } & {
    destroy(): void;
  },
): Promise<void> {
  const answer = await fetch(broker.url + path);
  const bytes = Buffer.from(await answer.arrayBuffer());
  if (!path.includes('/backup')) response.end(bytes.toString());
  else response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
}

interface Ran {
  readonly code: unknown;
  readonly out: string;
}

async function ran(command: () => Promise<void>): Promise<Ran> {
  const texts: string[] = [];
  const keep = (text: unknown): boolean => texts.push(String(text)) > 0;
  const spies = [process.stdout, process.stderr].map((stream) =>
    jest.spyOn(stream, 'write').mockImplementation(keep),
  );
  try {
    await command();
    return { code: process.exitCode, out: texts.join('') };
  } finally {
    for (const spy of spies) spy.mockRestore();
    process.exitCode = 0;
  }
}

const backup = (to: string, url = broker.url): Promise<Ran> =>
  ran(() => runBackup(['--to', to, '--url', url]));
const cutUrl = (): string => `http://127.0.0.1:${(cut.address() as AddressInfo).port}`;

async function madeBackup(): Promise<string> {
  const to = join(root, 'monday');
  expect(await backup(to)).toMatchObject({ code: 0 });
  return to;
}

function put(...path: string[]): string {
  const file = join(root, ...path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, 'mine');
  return file;
}

/** Every name below the directory. */
const tree = (directory: string): string[] =>
  readdirSync(directory, { recursive: true }).map(String).sort();

describe('refuses, and touches nothing,', () => {
  it.each<[string, () => string | Promise<string>, string]>([
    ['a folder with files', () => join(put('home', 'notes.txt'), '..'), 'holds notes.txt'],
    ['a file', () => put('file'), 'is a file'],
    ['a live data directory', () => broker.directory, 'is the data directory of a node'],
    ['a place in a live data directory', () => join(broker.directory, 'b'), 'would lie in it'],
    ['a lock', () => join(put('d', 'lock', 'LOCK'), '..', '..'), 'is the data directory'],
    ['raft-groups', () => join(put('d', 'raft-groups'), '..'), 'is the data directory'],
    [
      'wal and store',
      () => {
        put('d', 'store', 'CURRENT');
        return join(put('d', 'wal', 'x'), '..', '..');
      },
      'is the data directory',
    ],
    ['a log of something else', () => join(put('d', 'wal', 'x'), '..', '..'), 'holds wal/x'],
    [
      'a backup with a file of somebody else',
      async () => {
        const to = await madeBackup();
        put('monday', 'notes.txt');
        return to;
      },
      'holds notes.txt',
    ],
    [
      'half a backup',
      async () => {
        const to = await madeBackup();
        rmSync(join(to, 'snapshot'));
        return to;
      },
      'no complete backup',
    ],
    [
      'a folder of somebody else in the place where it would grow',
      () => join(put('to.partial', 'notes.txt'), '..', '..', 'to'),
      'to.partial is the place where the backup grows and holds notes.txt',
    ],
  ])('%s', async (_, make, says) => {
    const to = await make();
    const before = tree(root);
    const names = readdirSync(broker.directory);
    const { code, out } = await backup(to);
    expect(code).toBe(1);
    expect(out).toContain(says);
    expect(out).toContain('nothing was written');
    expect(tree(root)).toEqual(before);
    expect(readdirSync(broker.directory)).toEqual(names);
  });

  it('while another one writes to the same place', async () => {
    const to = join(root, 'to');
    mkdirSync(`${to}.partial`);
    const lock = await lockDirectory(`${to}.partial`);
    const { code, out } = await backup(to);
    await lock.release();
    expect(code).toBe(1);
    expect(out).toContain('another "queen backup" writes');
    expect(await backup(to)).toMatchObject({ code: 0 });
  });
});

describe('an earlier backup', () => {
  it('is replaced by the next, and nothing is left beside it', async () => {
    const to = await madeBackup();
    const { appliedIndex } = await readBackup(to);
    await new Calls(broker).push('q', 'c');
    symlinkSync(to, join(root, 'link'));
    expect(await backup(join(root, 'link'))).toMatchObject({ code: 0 });
    expect((await readBackup(to)).appliedIndex).toBeGreaterThan(appliedIndex);
    expect(readdirSync(root).sort()).toEqual(['link', 'monday']);
    expect(readdirSync(to).sort()).toEqual(['rows', 'snapshot', 'wal']);
  });

  it('stays as it was when the next one breaks off', async () => {
    const to = await madeBackup();
    const before = tree(root);
    const { code, out } = await backup(to, cutUrl());
    expect(code).toBe(1);
    expect(out).toMatch(/^queen backup: /);
    expect(tree(root)).toEqual(before);
    await readBackup(to);
  });

  it.each([
    ['after a kill between the two renames', false],
    ['also when somebody made the directory anew meanwhile', true],
  ])('is there again %s', async (_, isMadeAnew) => {
    const to = await madeBackup();
    renameSync(to, `${to}.replaced`);
    if (isMadeAnew) mkdirSync(to);
    expect(await backup(to, cutUrl())).toMatchObject({ code: 1 });
    await readBackup(to);
    expect(readdirSync(root)).toEqual(['monday']);
  });

  it('is kept aside while something else has its name', async () => {
    const to = await madeBackup();
    renameSync(to, `${to}.replaced`);
    put('monday', 'notes.txt');
    expect(await backup(to)).toMatchObject({ code: 1 });
    await readBackup(`${to}.replaced`);
  });

  it('gives way to the next one whatever killed runs have left', async () => {
    const to = await madeBackup();
    for (const left of [join('monday.partial', 'backup'), 'monday.replaced']) {
      cpSync(to, join(root, left), { recursive: true });
    }
    rmSync(join(root, 'monday.partial', 'backup', 'snapshot'));
    put('monday.partial', 'backup', 'groups', 'g3', 'rows');
    put('monday.partial', 'lock', 'LOCK');
    expect(await backup(to)).toMatchObject({ code: 0 });
    expect(readdirSync(root)).toEqual(['monday']);
    expect(readdirSync(to).sort()).toEqual(['rows', 'snapshot', 'wal']);
  });
});

describe('is called', () => {
  it('below a directory that it may pass and not list', async () => {
    const real = fsPromises.readdir as (path: string, ...rest: unknown[]) => Promise<string[]>;
    const refusal = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
    const readdir = (path: string, ...rest: unknown[]): Promise<string[]> =>
      path === tmpdir() ? Promise.reject(refusal) : real(path, ...rest);
    const closed = jest.spyOn(fsPromises, 'readdir').mockImplementation(readdir as never);
    const result = await backup(join(root, 'to'));
    const asked = closed.mock.calls.length;
    closed.mockRestore();
    expect(result).toMatchObject({ code: 0 });
    expect(asked).toBeGreaterThan(0);
  });

  it('with a slash behind the URL, values behind =, into an empty directory', async () => {
    const to = join(root, 'deep', 'empty');
    mkdirSync(to, { recursive: true });
    const { code, out } = await ran(() => runBackup([`--to=${to}/`, `--url=${broker.url}/`]));
    expect({ code, out }).toMatchObject({ code: 0 });
    await readBackup(to);
  });

  it('where nobody listens: names the address and the cause', async () => {
    const to = join(root, 'to');
    const nobody = createServer();
    await new Promise<void>((resolve) => void nobody.listen(0, '127.0.0.1', resolve));
    const { port } = nobody.address() as AddressInfo;
    await new Promise((resolve) => nobody.close(resolve));
    const { code, out } = await backup(to, `http://127.0.0.1:${port}`);
    expect(code).toBe(1);
    expect(out).toContain(`no answer from http://127.0.0.1:${port}/`);
    expect(out).toContain('ECONNREFUSED');
    expect(readdirSync(root)).toEqual([]);
  });

  it.each<[string, () => Promise<void>]>([
    ['backup', () => runBackup([])],
    ['backup', () => runBackup(['--to'])],
    ['backup', () => runBackup(['--to', ''])],
    ['backup', () => runBackup(['--to', join(root, 'x'), '--force'])],
    ['backup', () => runBackup([join(root, 'x')])],
    ['restore', () => runRestore([])],
    ['restore', () => runRestore(['--from', root, '--into', join(root, 'x')])],
  ])('wrongly: %s ends with 2 and its usage', async (name, command) => {
    const { code, out } = await ran(command);
    expect(code).toBe(2);
    expect(out).toContain(`usage: queen ${name} --`);
    expect(existsSync(join(root, 'x'))).toBe(false);
  });
});
