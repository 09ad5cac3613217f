/**
 * Looks at every file of a LevelDB before LevelDB does. LevelDB drops broken batches from the
 * middle of its log and returns flipped bytes of tables as data; so everything it will read is
 * checked here, a tail that was never confirmed is cut, and anything else wrong refuses with file,
 * place and cure.
 *
 *   CURRENT ─► MANIFEST ─► tables: exist, size, footer, every block's checksum, first and last key
 *                     └──► logs:   exist, whole up to the checkpoint record, unbroken
 *   LOG, LOCK, leftovers of a crash that the manifest does not name: without effect, not looked at
 */
import { open, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CheckpointState } from '../checkpoint-record.js';
import { StoreDamageError } from '../errors.js';
import { breathe } from '../key-sort.js';
import { logFileName } from '../log-position.js';
import { MalformedBytes } from './byte-cursor.js';
import { checkLogs, type LogCut, type LogFile } from './log-files.js';
import { readManifest, type TableFact, type Version } from './manifest.js';
import { checkTable } from './table-file.js';

export interface VerifyInput {
  /** LevelDB's directory; exists, may be empty. */
  directory: string;
  /** The checkpoint record; undefined when there is no such file. */
  known: CheckpointState | undefined;
  /** Leaves an unconfirmed tail where it is. */
  readOnly?: boolean;
  /** Takes damage of tables and goes on; absent: the first one is thrown. */
  onDamage?: (error: StoreDamageError) => void;
}

export interface VerifyResult {
  /** Nothing was ever written here: what lies around may be removed. */
  isEmpty: boolean;
  tableCount: number;
  checkedBytes: number;
  cutBytes: number;
  /** LevelDB's sequence number after it opens. */
  lastSequence: number;
}

const NOTHING = { tableCount: 0, checkedBytes: 0, cutBytes: 0, lastSequence: 0 };

export async function verifyLevel(input: VerifyInput): Promise<VerifyResult> {
  const { directory, known } = input;
  const names = await readdir(directory);
  if (known === undefined) {
    if (names.length === 0) return { isEmpty: true, ...NOTHING };
    const file = join(directory, '..', 'checkpoint');
    const reason = 'the checkpoint record is missing, but the store beside it holds files';
    throw new StoreDamageError({ file, reason });
  }
  if (known.required === 0 && known.record.logNumber === 0) {
    await checkUnborn(directory, names);
    return { isEmpty: true, ...NOTHING };
  }
  const { version, manifestCut } = await readVersion(directory, names);
  const checkedBytes = await checkTables(input, names, version);
  const logs = await readLogs(directory, names, { version, known });
  const facts = checkLogs(logs, known);
  const cuts = manifestCut === undefined ? facts.cuts : [manifestCut, ...facts.cuts];
  if (input.readOnly !== true) for (const cut of cuts) await truncate(cut);
  return {
    isEmpty: false,
    tableCount: version.tables.size,
    checkedBytes: checkedBytes + logs.reduce((sum, log) => sum + log.bytes.length, 0),
    cutBytes: cuts.reduce((sum, cut) => sum + cut.cutBytes, 0),
    lastSequence: Math.max(version.lastSequence, facts.lastSequence),
  };
}

/** A first start that died before LevelDB was ready has written no row: no table, no log bytes. */
async function checkUnborn(directory: string, names: string[]): Promise<void> {
  for (const name of names) {
    const file = join(directory, name);
    const isLog = name.endsWith('.log') && (await readFile(file)).length > 0;
    if (!isLog && !/\.(ldb|sst)$/.test(name)) continue;
    const reason = 'the checkpoint record says that nothing was written, but this file holds rows';
    throw new StoreDamageError({ file, reason });
  }
}

async function readVersion(
  directory: string,
  names: string[],
): Promise<{ version: Version; manifestCut: LogCut | undefined }> {
  const current = join(directory, 'CURRENT');
  if (!names.includes('CURRENT')) {
    throw new StoreDamageError({ file: current, reason: 'the file is missing' });
  }
  const text = await readFile(current, 'latin1');
  const manifestName = /^(MANIFEST-\d{6,})\n$/.exec(text)?.[1];
  if (manifestName === undefined) {
    throw new StoreDamageError({ file: current, byteOffset: 0, reason: 'names no manifest' });
  }
  const path = join(directory, manifestName);
  if (!names.includes(manifestName)) {
    throw new StoreDamageError({ file: path, reason: 'the file is missing' });
  }
  const bytes = await readFile(path);
  const version = readManifest(path, bytes);
  const cutBytes = bytes.length - version.validLength;
  const length = version.validLength;
  return { version, manifestCut: cutBytes > 0 ? { path, length, cutBytes } : undefined };
}

/** Reads the next table while this one is checked. */
async function checkTables(
  { directory, onDamage }: VerifyInput,
  names: string[],
  version: Version,
): Promise<number> {
  const present = new Set(names);
  const tables = [...version.tables.values()].map((fact) => {
    const stem = String(fact.number).padStart(6, '0');
    const name = present.has(`${stem}.ldb`) ? `${stem}.ldb` : `${stem}.sst`;
    return { fact, path: join(directory, name), isPresent: present.has(name), stem };
  });
  for (const { isPresent, stem } of tables) {
    if (isPresent) continue;
    const file = join(directory, `${stem}.ldb`);
    throw new StoreDamageError({ file, reason: 'a table the manifest names is missing' });
  }
  let checkedBytes = 0;
  let reading = tables[0] === undefined ? undefined : readFile(tables[0].path);
  for (let i = 0; i < tables.length; i++) {
    const bytes = await reading!;
    const following = tables[i + 1];
    reading = following === undefined ? undefined : readFile(following.path);
    // A refusal below leaves this read behind; nobody waits for it then.
    reading?.catch(() => undefined);
    try {
      checkOne(tables[i]!.path, bytes, tables[i]!.fact);
    } catch (error) {
      if (onDamage === undefined || !(error instanceof StoreDamageError)) throw error;
      onDamage(error);
    }
    checkedBytes += bytes.length;
    await breathe();
  }
  return checkedBytes;
}

function checkOne(file: string, bytes: Buffer, fact: TableFact): void {
  try {
    checkTable(bytes, fact);
  } catch (error) {
    if (!(error instanceof MalformedBytes)) throw error;
    const { byteOffset, message } = error;
    throw new StoreDamageError({ file, byteOffset, reason: message });
  }
}

async function readLogs(
  directory: string,
  names: string[],
  input: { version: Version; known: CheckpointState },
): Promise<LogFile[]> {
  const { version, known } = input;
  const numbers = names
    .map((name) => Number(/^(\d+)\.log$/.exec(name)?.[1] ?? NaN))
    .filter((number) => number >= version.logNumber || number === version.previousLogNumber)
    .sort((a, b) => a - b);
  // An older log than the manifest's first is in tables already; the record may still name it.
  const needed = [version.logNumber, known.record.logNumber];
  for (const number of needed) {
    if (number < version.logNumber || numbers.includes(number)) continue;
    const file = join(directory, logFileName(number));
    throw new StoreDamageError({ file, reason: 'a log that holds confirmed rows is missing' });
  }
  return Promise.all(
    numbers.map(async (number) => {
      const path = join(directory, logFileName(number));
      return { number, path, bytes: await readFile(path) };
    }),
  );
}

async function truncate(cut: LogCut): Promise<void> {
  const handle = await open(cut.path, 'r+');
  try {
    await handle.truncate(cut.length);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
