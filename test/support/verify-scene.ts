/**
 * Data directories for `queen verify`: of a stopped node with messages, a dead letter, timers, keys and a
 * rewritten segment, of one whose power was cut, and a backup; and what tests do to them.
 */
import { createHash } from 'node:crypto';
import { cpSync, lstatSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyDirectory, writeBackup, type VerifyReport } from '../../src/raft/index.js';
import { Calls, eventually, messagesOf } from '../e2e/calls.js';
import { TestBroker } from './broker.js';

const ENV = {
  RETENTION_INTERVAL: '20',
  QUEEN_RAFT_SEGMENT_BYTES: String(1024 * 1024),
  QUEEN_RAFT_LOG_KEEP: '16',
  QUEEN_RAFT_DURABLE_EVERY_MS: '20',
};
/** Nothing but what clients do: the copy of the quiet directory then equals a power cut. */
const QUIET = { ...ENV, RETENTION_INTERVAL: '600000', QUEEN_RAFT_DURABLE_EVERY_MS: '60000' };
const PAYLOAD = 'x'.repeat(16 * 1024);

export interface VerifyScene {
  /** Everything below it goes at the end. */
  readonly root: string;
  readonly stopped: string;
  /** The same node with entries behind its checkpoint. */
  readonly cutOff: string;
  readonly backup: string;
}

export async function makeScene(): Promise<VerifyScene> {
  const root = mkdtempSync(join(tmpdir(), 'queen-sound-'));
  const [stopped, cutOff, backup] = [
    join(root, 'stopped'),
    join(root, 'cut'),
    join(root, 'backup'),
  ];
  const broker = await TestBroker.start(ENV);
  try {
    await makeState(broker);
    await broker.restart(QUIET);
    const response = await fetch(`${broker.url}/api/v1/system/backup`);
    await writeBackup(backup, response.body as unknown as AsyncIterable<Uint8Array>);
    await new Calls(broker).push('kept', 'late-1', 'late-2');
    cpSync(broker.directory, cutOff, { recursive: true });
    await broker.nest.close();
    cpSync(broker.directory, stopped, { recursive: true });
  } finally {
    await broker.stop();
  }
  return { root, stopped, cutOff, backup };
}

async function makeState(broker: TestBroker): Promise<void> {
  const calls = new Calls(broker);
  await calls.configure('dying', { dedupWindowSeconds: 0 });
  await calls.push('dying', { id: 'dead', payload: PAYLOAD });
  const [dead] = messagesOf(
    await calls.pop('dying', { consumerGroup: 'g', subscriptionMode: 'all' }),
  );
  await calls.ack(dead!, 'g', { id: 'dead', status: 'dlq', error: 'boom' });
  await broker.post('/api/v1/timers', {
    operations: ['small', 'large'].map((timerKey) => ({
      ...{ op: 'schedule', queue: 'later', timerKey, delayMs: 3_600_000, txn: timerKey },
      payload: Buffer.from(JSON.stringify(timerKey === 'small' ? 1 : PAYLOAD)).toString('base64'),
    })),
  });
  const value = JSON.stringify({ value: 1, forever: true });
  const put = await broker.send('PUT', '/api/v1/kv/ns/k', value);
  if (put.status !== 200) throw new Error(put.text);
  for (let n = 0; n < 4; n += 1) {
    await calls.push('kept', { id: `k${n}`, payload: { n } });
    for (let batch = 0; batch < 4; batch += 1) {
      const ids = Array.from({ length: 16 }, (_, i) => `d${n}-${batch}-${i}`);
      await calls.push('dying', ...ids.map((id) => ({ id, payload: PAYLOAD })));
    }
  }
  await calls.configure('dying', { maxWaitTimeSeconds: 1 });
  await eventually(async () => {
    await calls.push('ticker', 't');
    return rowsOf(broker.directory).some(({ revision }) => revision > 0) ? true : null;
  }, 60_000);
}

interface Row {
  readonly sequence: number;
  readonly revision: number;
  readonly state: string;
}

/** As the manifest lists them. */
function rowsOf(directory: string): Row[] {
  const text = readFileSync(join(directory, 'wal', 'manifest'), 'latin1');
  return JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)).segments;
}

export function segmentOf(directory: string, wanted: (row: Row) => boolean): string {
  const rows = rowsOf(directory);
  const row = rows.find(wanted);
  if (row === undefined) throw new Error(`no such segment in ${JSON.stringify(rows)}`);
  const stem = String(row.sequence).padStart(20, '0');
  return join(directory, 'wal', `${stem}${row.revision === 0 ? '' : `-r${row.revision}`}.seg`);
}

export const active = (directory: string): string =>
  segmentOf(directory, (r) => r.state === 'active');

export function flip(path: string, at = Math.floor(lstatSync(path).size / 2)): void {
  const bytes = readFileSync(path);
  bytes[at] = bytes[at]! ^ 0x10;
  writeFileSync(path, bytes);
}

let copies = 0;

export function copyOf(directory: string): string {
  copies += 1;
  const copy = `${directory}-copy-${copies}`;
  cpSync(directory, copy, { recursive: true });
  return copy;
}

/** Every file with its bytes, size, times of change and number of names. */
function fingerprint(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const path = join(directory, name);
      const { size, mtimeMs, nlink, mode } = lstatSync(path);
      if (lstatSync(path).isDirectory()) return `${name}/ ${mtimeMs} ${mode}`;
      const hash = createHash('sha256').update(readFileSync(path)).digest('hex');
      return `${name} ${hash} ${size} ${mtimeMs} ${nlink} ${mode}`;
    });
}

/** Verifies, and proves that the directory is as it was and that no scratch stays. */
export async function verified(directory: string, at?: number): Promise<VerifyReport> {
  const before = fingerprint(directory);
  const scratchIn = mkdtempSync(`${directory}-scratch-`);
  const report = await verifyDirectory({
    ...{ directory, scratchIn },
    ...(at === undefined ? {} : { at }),
  });
  expect(fingerprint(directory)).toEqual(before);
  expect(readdirSync(scratchIn)).toEqual([]);
  return report;
}

export const damagesOf = (report: VerifyReport): string[] =>
  report.groups
    .flatMap(({ findings }) => findings)
    .filter(({ severity }) => severity === 'damage')
    .map(({ text }) => text);

export const tableOf = (directory: string): string => {
  const name = readdirSync(join(directory, 'store')).find((n) => n.endsWith('.ldb'));
  if (name === undefined) throw new Error('no table');
  return join(directory, 'store', name);
};
