/** One queue against a plain model: arrays of messages and maps per group, any order of operations. */
import fc from 'fast-check';
import { EngineHarness, type Popped } from '../../../test/support/ephemeral-engine.js';

const RETRY_LIMIT = 3;
const LEASE_MS = 1000;
const GROUPS = ['a', 'b'];

interface ModelGroup {
  /** Messages by number: leased until, tries; absent = unread; 'done'. */
  readonly state: Map<number, { until: number; tries: number } | 'done'>;
}

/** What the queue promises, said in the simplest way: nothing is ever freed, everything is looked at. */
class Model {
  readonly messages: number[] = [];
  readonly groups = new Map<string, ModelGroup>();
  /** Messages below it were freed before a new group came. */
  freed = 0;

  group(name: string): ModelGroup {
    let group = this.groups.get(name);
    if (group === undefined) {
      group = { state: new Map() };
      for (let n = 0; n < this.freed; n += 1) group.state.set(n, 'done');
      this.groups.set(name, group);
    }
    return group;
  }

  expire(now: number): void {
    for (const { state } of this.groups.values()) {
      for (const [n, held] of state) {
        if (held === 'done' || held.until === 0 || held.until > now) continue;
        state.set(n, held.tries >= RETRY_LIMIT ? 'done' : { until: 0, tries: held.tries });
      }
    }
    this.free();
  }

  pop(name: string, batch: number, now: number, commit: boolean): [number, number][] {
    const { state } = this.group(name);
    const back = this.messages.filter((n) => {
      const held = state.get(n);
      return held !== undefined && held !== 'done' && held.until === 0;
    });
    const unread = this.messages.filter((n) => !state.has(n));
    return [...back, ...unread].slice(0, batch).map((n) => {
      const held = state.get(n);
      const tries = (held === undefined || held === 'done' ? 0 : held.tries) + 1;
      state.set(n, commit ? 'done' : { until: now + LEASE_MS, tries });
      return [n, tries];
    });
  }

  ack(name: string, n: number, completed: boolean): string {
    const { state } = this.group(name);
    const held = state.get(n);
    if (held === undefined || held === 'done' || held.until === 0) return 'unknown';
    const isOver = completed || held.tries >= RETRY_LIMIT;
    state.set(n, isOver ? 'done' : { until: 0, tries: held.tries });
    return isOver ? 'acked' : 'redelivered';
  }

  /** The first messages that every group is done with. */
  free(): void {
    if (this.groups.size === 0) return;
    const isFree = (n: number): boolean =>
      [...this.groups.values()].every(({ state }) => state.get(n) === 'done');
    while (this.freed < this.messages.length && isFree(this.freed)) this.freed += 1;
  }
}

const operation = fc.oneof(
  fc.record({ kind: fc.constant('push' as const), count: fc.integer({ min: 1, max: 9 }) }),
  fc.record({
    kind: fc.constant('pop' as const),
    group: fc.constantFrom(...GROUPS),
    batch: fc.integer({ min: 1, max: 7 }),
    commit: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('ack' as const),
    group: fc.constantFrom(...GROUPS),
    pick: fc.nat(),
    completed: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(200, 1100) }),
);

it('delivers, retries, gives up and frees like the model, whatever happens', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 60 }), async (operations) => {
      const harness = new EngineHarness();
      const model = new Model();
      harness.declare('q', { retryLimit: RETRY_LIMIT, leaseSeconds: LEASE_MS / 1000 });
      const seen: { group: string; n: number; id: string }[] = [];
      try {
        for (const one of operations) {
          model.expire(harness.nowMs);
          if (one.kind === 'wait') harness.nowMs += one.ms;
          else if (one.kind === 'push') {
            const numbers = Array.from({ length: one.count }, (_, i) => model.messages.length + i);
            model.messages.push(...numbers);
            expect(harness.push('q', 'p', numbers)).toBe('ok');
          } else if (one.kind === 'pop') {
            const { group, batch, commit } = one;
            const call = { partition: 'p', group, batch, commitOnDelivery: commit };
            const popped: Popped[] = await harness.pop('q', call);
            expect(popped.map(({ payload, attempts }) => [payload, attempts])).toEqual(
              model.pop(group, batch, harness.nowMs, commit),
            );
            for (const { id, payload } of popped) seen.push({ group, n: payload as number, id });
          } else if (seen.length > 0) {
            const { group, n, id } = seen[one.pick % seen.length]!;
            const status = one.completed ? 'completed' : 'failed';
            expect(harness.ack('q', [id], status, group)).toEqual([
              model.ack(group, n, one.completed),
            ]);
          }
          model.free();
          const queue = harness.queue('q');
          const held = model.messages.length - model.freed;
          // Expired leases free when they are looked at.
          if (one.kind !== 'wait') expect(queue?.length ?? 0).toBe(held);
        }
      } finally {
        await harness.stop();
      }
    }),
    { numRuns: 150 },
  );
});
