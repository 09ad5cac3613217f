/**
 * Figures of queues for whoever asks often: exact while the walk is short, else the last walk's result
 * for a few seconds, renewed in the background. However many partitions there are and however many
 * people look, a queue is walked once at a time.
 */
import type { QueueRow } from '../machine/tables/tables.js';
import type { Group } from '../raft/group/group.js';
import { queueFigures, type QueueFigures } from './queue-figures.js';
import { Slices } from './slices.js';

/** Partitions one request walks itself. */
const WALK_BUDGET = 50_000;
/** Older figures are renewed in the background. */
const FRESH_MS = 5_000;
/** Older figures are not shown: the request waits for the walk. */
const USABLE_MS = 120_000;

type FigureGroup = Pick<Group, 'tables' | 'nowMicros' | 'view'>;

interface Known {
  readonly figures: QueueFigures;
  readonly atMs: number;
}

export interface FiguresRead {
  readonly figures: QueueFigures;
  readonly queue: QueueRow;
}

export interface AllFigures {
  readonly rows: readonly FiguresRead[];
  /** Whole seconds of the oldest figure that is not exact, 0 when all are. */
  readonly ageSeconds: number;
}

const caches = new WeakMap<object, FigureCache>();

/** One cache per group, whoever asks. */
export function figuresOf(group: FigureGroup): FigureCache {
  let cache = caches.get(group);
  if (cache === undefined) {
    cache = new FigureCache(group, () => performance.now());
    caches.set(group, cache);
  }
  return cache;
}

export class FigureCache {
  private readonly known = new Map<number, Known>();
  private readonly walks = new Map<number, Promise<QueueFigures | null>>();

  constructor(
    private readonly group: FigureGroup,
    private readonly nowMs: () => number,
    private readonly budget = WALK_BUDGET,
  ) {}

  /** Queues that are deleted meanwhile are left out. */
  async read(queues: readonly QueueRow[]): Promise<AllFigures> {
    const slices = new Slices();
    const rows: FiguresRead[] = [];
    let left = this.budget;
    let ageMs = 0;
    for (const queue of queues) {
      const short = queue.partitionCount <= left;
      if (short) left -= queue.partitionCount;
      const known = short
        ? { figures: await queueFigures(this.group, queue, slices), atMs: this.nowMs() }
        : await this.recent(queue);
      if (known.figures === null) continue;
      if (!short) ageMs = Math.max(ageMs, this.nowMs() - known.atMs);
      rows.push({ queue, figures: known.figures });
      if (slices.isSpent()) await slices.pause();
    }
    return { rows, ageSeconds: Math.round(ageMs / 1000) };
  }

  private async recent(
    queue: QueueRow,
  ): Promise<{ readonly figures: QueueFigures | null; readonly atMs: number }> {
    const known = this.known.get(queue.id);
    const age = known === undefined ? Infinity : this.nowMs() - known.atMs;
    if (known === undefined || age > USABLE_MS) {
      return { figures: await this.walk(queue), atMs: this.nowMs() };
    }
    // A walk that fails leaves what is known; whoever waits for one is told.
    if (age > FRESH_MS) this.walk(queue).catch(() => undefined);
    return known;
  }

  private walk(queue: QueueRow): Promise<QueueFigures | null> {
    const running = this.walks.get(queue.id);
    if (running !== undefined) return running;
    const walk = queueFigures(this.group, queue, new Slices())
      .then((figures) => {
        if (figures === null) this.known.delete(queue.id);
        else this.known.set(queue.id, { figures, atMs: this.nowMs() });
        return figures;
      })
      .finally(() => this.walks.delete(queue.id));
    this.walks.set(queue.id, walk);
    return walk;
  }
}
