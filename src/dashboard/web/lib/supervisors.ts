/**
 * Reads what supervisors of worker pools publish in KV: one row per supervisor, its key
 * `<group>/<supervisor>` (or the group alone), its value
 * `{heartbeatAt?, pools: [{name?, queue, workers, target, error?}]}`. What a row does not say is unknown,
 * never 0; a row that is no such document is counted, not shown.
 */
import type { KvRow } from './shapes';

export interface Pool {
  readonly supervisor: string;
  readonly name: string;
  readonly queue: string | null;
  readonly workers: number | null;
  readonly target: number | null;
  readonly error: string | null;
}

export interface SupervisorGroup {
  readonly name: string;
  readonly supervisors: number;
  readonly pools: readonly Pool[];
  readonly queues: readonly string[];
  readonly workers: number | null;
  readonly target: number | null;
  /** ISO instant of the oldest heartbeat: one silent supervisor is enough to look. */
  readonly heartbeatAt: string;
  readonly attention: readonly string[];
}

/** A supervisor that was silent for so long is looked at. */
const SILENT_MS = 60_000;

const text = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : null;
const number = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

/** In one form, so that they sort; null for what is no instant. */
function instant(value: unknown): string | null {
  const at = Date.parse(text(value) ?? '');
  return Number.isNaN(at) ? null : new Date(at).toISOString();
}

interface Published {
  readonly group: string;
  readonly supervisor: string;
  readonly heartbeatAt: string;
  readonly pools: readonly Pool[];
}

function published(row: KvRow): Published | null {
  const value = row.value as Record<string, unknown> | null | undefined;
  if (typeof value !== 'object' || value === null || !Array.isArray(value['pools'])) return null;
  const at = row.key.indexOf('/');
  const group = at < 0 ? row.key : row.key.slice(0, at);
  const supervisor = at < 0 ? row.key : row.key.slice(at + 1);
  const pools = (value['pools'] as unknown[]).flatMap((one, i): Pool[] => {
    if (typeof one !== 'object' || one === null) return [];
    const pool = one as Record<string, unknown>;
    return [
      {
        supervisor,
        name: text(pool['name']) ?? text(pool['queue']) ?? `pool ${i + 1}`,
        queue: text(pool['queue']),
        workers: number(pool['workers']),
        target: number(pool['target']),
        error: text(pool['error']),
      },
    ];
  });
  return { group, supervisor, pools, heartbeatAt: instant(value['heartbeatAt']) ?? row.updatedAt };
}

/** Unknown as soon as one of them is. */
function sum(values: readonly (number | null)[]): number | null {
  return values.some((value) => value === null)
    ? null
    : values.reduce<number>((total, value) => total + (value ?? 0), 0);
}

export function supervisorGroups(
  rows: readonly KvRow[],
  now = Date.now(),
): { readonly groups: readonly SupervisorGroup[]; readonly unread: number } {
  const byGroup = new Map<string, Published[]>();
  let unread = 0;
  for (const row of rows) {
    const one = published(row);
    if (one === null) unread += 1;
    else byGroup.set(one.group, [...(byGroup.get(one.group) ?? []), one]);
  }
  const groups = [...byGroup].map(([name, all]) => groupOf(name, all, now));
  groups.sort((a, b) => b.attention.length - a.attention.length || (a.name < b.name ? -1 : 1));
  return { groups, unread };
}

function groupOf(name: string, all: readonly Published[], now: number): SupervisorGroup {
  const pools = all.flatMap((one) => one.pools);
  const workers = sum(pools.map((pool) => pool.workers));
  const target = sum(pools.map((pool) => pool.target));
  const [heartbeatAt = ''] = all.map((one) => one.heartbeatAt).sort();
  const silent = all.filter((one) => now - Date.parse(one.heartbeatAt) > SILENT_MS).length;
  const failing = pools.filter(({ error }) => error !== null).length;
  const attention = [
    ...(silent > 0 ? [`${silent} silent for a minute or more`] : []),
    ...(failing > 0 ? [`${failing} pools failing`] : []),
    ...(workers !== null && target !== null && workers < target
      ? [`${target - workers} workers short`]
      : []),
  ];
  const queues = [...new Set(pools.flatMap(({ queue }) => (queue === null ? [] : [queue])))].sort();
  return { name, supervisors: all.length, pools, queues, workers, target, heartbeatAt, attention };
}
