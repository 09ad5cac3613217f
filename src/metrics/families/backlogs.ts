/**
 * Families of what is due and not settled yet: timers and expired keys, of the groups this node leads.
 * Looked up when somebody scrapes: at most LOOK_LIMIT rows of an index, in a view.
 */
import { monotonicMs } from '../../config/index.js';
import { kvDueRange, kvExpiresAt } from '../../machine/tables/kv-keys.js';
import { keyTimerDue, timerDueRange } from '../../machine/tables/timer-keys.js';
import type { Group, GroupView, Groups, ViewRange } from '../../raft/index.js';
import type { Family, NumberFamily } from '../family.js';

const LOOK_LIMIT = 1_000;
/** One look serves the families of one scrape. */
const LOOK_FOR_MS = 250;
const MICROSECOND = 1e-6;

/** Rows that are due and not settled yet. */
interface Backlog {
  readonly count: number;
  readonly isCapped: boolean;
  /** How long the oldest is due, seconds; 0 when none is. */
  readonly lateSeconds: number;
}

interface Backlogs {
  readonly timers: Backlog;
  readonly keys: Backlog;
}

const NOTHING: Backlog = { count: 0, isCapped: false, lateSeconds: 0 };

/** Looks at most every LOOK_FOR_MS, whoever asks. */
class BacklogReader {
  private atMs = -Infinity;
  private found: Promise<Backlogs | null> = Promise.resolve(null);

  constructor(private readonly groups: Groups) {}

  read(): Promise<Backlogs | null> {
    const now = monotonicMs();
    if (now - this.atMs < LOOK_FOR_MS) return this.found;
    this.atMs = now;
    // A store that stops or is damaged tells nothing; the figures are absent then, not 0.
    this.found = lookAtAll(this.groups).catch(() => null);
    return this.found;
  }
}

async function lookAtAll(groups: Groups): Promise<Backlogs> {
  const all = await Promise.all(groups.all().map((group) => look(group)));
  return all.reduce(
    (sum, one) => ({ timers: both(sum.timers, one.timers), keys: both(sum.keys, one.keys) }),
    { timers: NOTHING, keys: NOTHING },
  );
}

const both = (a: Backlog, b: Backlog): Backlog => ({
  count: a.count + b.count,
  isCapped: a.isCapped || b.isCapped,
  lateSeconds: Math.max(a.lateSeconds, b.lateSeconds),
});

async function look(group: Group): Promise<Backlogs> {
  if (group.status().role !== 'leader') return { timers: NOTHING, keys: NOTHING };
  const now = group.nowMicros();
  const view = await group.view();
  try {
    const timers = timerDueRange(0, now);
    return {
      timers: await backlog(view, timers, { now, dueOf: keyTimerDue }),
      keys: await backlog(view, kvDueRange(now), { now, dueOf: kvExpiresAt }),
    };
  } finally {
    await view.close();
  }
}

async function backlog(
  view: GroupView,
  range: ViewRange,
  { now, dueOf }: { readonly now: number; readonly dueOf: (key: Uint8Array) => number },
): Promise<Backlog> {
  let count = 0;
  let oldest = now;
  for await (const [key] of view.iterate({ ...range, limit: LOOK_LIMIT + 1 })) {
    if (count === 0) oldest = dueOf(key);
    count += 1;
  }
  return {
    count: Math.min(count, LOOK_LIMIT),
    isCapped: count > LOOK_LIMIT,
    lateSeconds: Math.max(now - oldest, 0) * MICROSECOND,
  };
}

export function backlogFamilies(groups: Groups): readonly Family[] {
  const reader = new BacklogReader(groups);
  const gauge = (name: string, help: string, of: (found: Backlogs) => number): NumberFamily => ({
    ...{ kind: 'gauge', name, help },
    read: async () => {
      const found = await reader.read();
      return found === null ? [] : of(found);
    },
  });
  return [
    gauge(
      'queen_timers_due',
      'Timers that are due and not fired, at most 1,000.',
      ({ timers }) => timers.count,
    ),
    gauge('queen_timers_due_capped', '1 when more are due.', ({ timers }) =>
      Number(timers.isCapped),
    ),
    gauge(
      'queen_kv_expired_not_pruned',
      'Keys that expired and whose space is not given back yet, at most 1,000.',
      ({ keys }) => keys.count,
    ),
    gauge('queen_kv_expired_not_pruned_capped', '1 when there are more.', ({ keys }) =>
      Number(keys.isCapped),
    ),
    gauge(
      'queen_kv_expiry_lag_seconds',
      'How long ago the oldest of them expired.',
      ({ keys }) => keys.lateSeconds,
    ),
  ];
}
