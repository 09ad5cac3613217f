/**
 * How many traces the store holds: counted once, in slices, after the first question; from then on the
 * changes since that view are added. Until it is counted there is no answer, so that nobody waits for it.
 */
import { KEYSPACE } from '../../machine/tables/keyspaces.js';
import type { GroupView, Groups } from '../../raft/index.js';
import { Slices } from '../../reads/slices.js';
import type { Sample } from '../family.js';

export class TraceCount {
  private base: { readonly traces: number; readonly deltaThen: number } | null = null;
  private counting = false;

  constructor(private readonly groups: Groups) {}

  read(): readonly Sample[] {
    if (this.base === null) {
      void this.count();
      return [];
    }
    const { traces, deltaThen } = this.base;
    return [{ labels: {}, value: Math.max(traces + this.delta() - deltaThen, 0) }];
  }

  private delta(): number {
    return this.groups.figures().reduce((total, { traceDelta }) => total + traceDelta, 0);
  }

  private async count(): Promise<void> {
    if (this.counting) return;
    this.counting = true;
    try {
      // The view is taken in the step that reads the delta: it holds exactly those changes.
      const views = this.groups.all().map((group) => group.view());
      const deltaThen = this.delta();
      let traces = 0;
      for (const view of views) traces += await countIn(await view);
      this.base = { traces, deltaThen };
    } catch {
      // The store is stopping, or damaged and the node with it: asked again at the next scrape.
    } finally {
      this.counting = false;
    }
  }
}

async function countIn(view: GroupView): Promise<number> {
  const slices = new Slices();
  const range = { gte: Uint8Array.of(KEYSPACE.traces), lt: Uint8Array.of(KEYSPACE.traces + 1) };
  let traces = 0;
  try {
    for await (const _row of view.iterate(range)) {
      traces += 1;
      if (slices.isSpent()) await slices.pause();
    }
  } finally {
    await view.close();
  }
  return traces;
}
