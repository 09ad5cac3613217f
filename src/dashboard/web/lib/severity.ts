/**
 * Where amber and red begin. Built-in lines, overridden by one document that the operators keep in KV
 * (namespace `queen.console`, key `settings`): for all queues, or for one. Unknown keys are kept.
 */
import { shallowRef } from 'vue';
import { get, post } from './api';
import { seconds } from './format';
import type { QueueRow, GroupRow, OpsPoint } from './shapes';

export const SETTINGS_NAMESPACE = 'queen.console';
export const SETTINGS_KEY = 'settings';

export const LINES = {
  lagWarnSeconds: 60,
  lagBadSeconds: 300,
  backlogWarnSeconds: 300,
  backlogBadSeconds: 1800,
  ackWarnRate: 0.01,
  ackBadRate: 0.05,
  memWarnShare: 0.8,
  memBadShare: 0.9,
  cpuWarnShare: 0.85,
} as const;
export type LineName = keyof typeof LINES;
export const QUEUE_LINES: readonly LineName[] = [
  'lagWarnSeconds',
  'lagBadSeconds',
  'backlogWarnSeconds',
  'backlogBadSeconds',
  'ackWarnRate',
  'ackBadRate',
];

const MAX_SECONDS = 31_536_000;
const MIN_BACKLOG = 100;
const MIN_FAILURES = 10;
const MIN_FAILURES_RED = 500;
/** Below so many messages a second the share that is read says nothing. */
const MIN_PUSH_RATE = 1;
const KEEP_UP_WARN = 0.8;
const KEEP_UP_BAD = 0.5;

export interface SettingsDocument {
  defaults?: Record<string, unknown>;
  queues?: Record<string, Record<string, unknown>>;
}

export const settings = shallowRef<SettingsDocument>({});

export function isUsable(name: LineName, value: unknown): value is number {
  if (typeof value !== 'number' || !Number.isFinite(value)) return false;
  if (name.endsWith('Seconds'))
    return Number.isInteger(value) && value >= 1 && value <= MAX_SECONDS;
  return value > 0 && value <= 1;
}

/** Queue, else defaults, else built-in; what cannot be used is skipped. */
export function line(name: LineName, queue?: string): number {
  const { defaults, queues } = settings.value;
  const own = queue === undefined ? undefined : queues?.[queue]?.[name];
  if (isUsable(name, own)) return own;
  const common = defaults?.[name];
  return isUsable(name, common) ? common : LINES[name];
}

/** Version of the stored document; null when there is none. */
let version: number | null = null;

/** A single read: who may only read can load them too. */
export async function loadSettings(): Promise<void> {
  const found = await get<{ found: boolean; value?: unknown; version?: number }>(
    `/api/v1/kv/${SETTINGS_NAMESPACE}/${SETTINGS_KEY}`,
  );
  version = found.found ? (found.version ?? null) : null;
  settings.value = isDocument(found.value) ? found.value : {};
}

function isDocument(value: unknown): value is SettingsDocument {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Refused when somebody else changed the document meanwhile. */
export async function saveSettings(next: SettingsDocument): Promise<void> {
  const operation = {
    ...{ op: 'put', ns: SETTINGS_NAMESPACE, key: SETTINGS_KEY, value: next, forever: true },
    ...(version === null ? {} : { expect: version }),
  };
  const { results } = await post<{
    results: readonly { applied?: boolean; reason?: string; version?: number }[];
  }>('/api/v1/kv', { operations: [operation] });
  const [result] = results;
  if (result?.applied !== true) {
    throw new Error('Somebody else changed the settings meanwhile. Reload and try again.');
  }
  version = result.version ?? version;
  settings.value = next;
}

export type Tone = 'amber' | 'red' | undefined;

export const toneOf = (value: number, warn: number, bad: number): Tone =>
  value >= bad ? 'red' : value >= warn ? 'amber' : undefined;

export interface Finding {
  readonly tone: 'amber' | 'red';
  readonly text: string;
}

export interface QueueView {
  readonly queue: QueueRow;
  readonly groups: readonly GroupRow[];
  readonly rate: OpsPoint | undefined;
}

/** What needs somebody on a queue, worst first. */
export function findingsOf({ queue, groups, rate }: QueueView): Finding[] {
  const findings: Finding[] = [];
  const add = (tone: Tone, text: string): void => {
    if (tone !== undefined) findings.push({ tone, text });
  };
  const { name, messages } = queue;
  const lag = Math.max(0, ...groups.map(({ maxTimeLag }) => maxTimeLag));
  add(
    toneOf(lag, line('lagWarnSeconds', name), line('lagBadSeconds', name)),
    `${seconds(lag)} behind`,
  );
  const ackRate = rate?.ackPerSecond ?? 0;
  if (messages.pending >= MIN_BACKLOG && ackRate > 0) {
    const work = messages.pending / ackRate;
    const tone = toneOf(work, line('backlogWarnSeconds', name), line('backlogBadSeconds', name));
    add(tone, `${seconds(work)} of work waiting`);
  }
  const pushRate = rate?.pushPerSecond ?? 0;
  if (groups.length > 0 && pushRate >= MIN_PUSH_RATE) {
    const kept = (rate?.popPerSecond ?? 0) / pushRate;
    const tone = kept < KEEP_UP_BAD ? 'red' : kept < KEEP_UP_WARN ? 'amber' : undefined;
    add(tone, `reads ${Math.round(kept * 100)} % of what is pushed`);
  }
  const failed = rate?.ackFailed ?? 0;
  const tried = failed + (rate?.ackSuccess ?? 0);
  if (failed >= MIN_FAILURES && tried > 0) {
    const tone = toneOf(failed / tried, line('ackWarnRate', name), line('ackBadRate', name));
    add(failed < MIN_FAILURES_RED && tone === 'red' ? 'amber' : tone, `${failed} failed acks`);
  }
  if (messages.deadLetter > 0) add('amber', `${messages.deadLetter} dead letters`);
  const noReaderOk = settings.value.queues?.[name]?.['noReaderOk'] === true;
  if (groups.length === 0 && messages.total > 0 && !noReaderOk) add('amber', 'nobody reads it');
  return findings.sort((a, b) => (a.tone === b.tone ? 0 : a.tone === 'red' ? -1 : 1));
}

/** For sorting: the worst first. */
export const weightOf = (findings: readonly Finding[]): number =>
  findings.reduce((sum, { tone }) => sum + (tone === 'red' ? 10 : 1), 0);

export function readersByQueue(rows: readonly GroupRow[]): Map<string, GroupRow[]> {
  const found = new Map<string, GroupRow[]>();
  for (const row of rows) {
    const known = found.get(row.queueName);
    if (known === undefined) found.set(row.queueName, [row]);
    else known.push(row);
  }
  return found;
}

/** Health of a queue in one word: what the dot before its name stands for. */
export const HEALTH = ['healthy', 'idle', 'elevated', 'falling behind'] as const;
export type Health = (typeof HEALTH)[number];

export function healthOf(findings: readonly Finding[], rate: OpsPoint | undefined): Health {
  if (findings.some(({ tone }) => tone === 'red')) return 'falling behind';
  if (findings.length > 0) return 'elevated';
  return rate === undefined ? 'idle' : 'healthy';
}
