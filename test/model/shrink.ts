/**
 * Delta debugging of a failing sequence: takes out ever smaller pieces, then simplifies what is left
 * (items of pushes, acks and transactions), as long as it still fails.
 */
import type { Op, Step } from './operations.js';

export type Fails = (steps: readonly Step[]) => Promise<boolean>;

/** Runs a shrink may take. */
const MAX_RUNS = 600;

export async function shrink(steps: readonly Step[], fails: Fails): Promise<Step[]> {
  let runs = 0;
  const stillFails = (candidate: readonly Step[]): Promise<boolean> => {
    runs += 1;
    return runs > MAX_RUNS ? Promise.resolve(false) : fails(candidate);
  };
  let best = await withoutPieces([...steps], stillFails);
  for (;;) {
    const smaller = await withSmallerStep(best, stillFails);
    if (smaller === null) return best;
    best = smaller;
  }
}

async function withoutPieces(steps: Step[], fails: Fails): Promise<Step[]> {
  let best = steps;
  for (let size = Math.ceil(best.length / 2); size >= 1;) {
    let shrunk = false;
    for (let at = 0; at < best.length;) {
      const candidate = [...best.slice(0, at), ...best.slice(at + size)];
      if (await fails(candidate)) {
        best = candidate;
        shrunk = true;
      } else at += size;
    }
    if (size === 1 && !shrunk) break;
    size = size === 1 ? 1 : Math.ceil(size / 2);
  }
  return best;
}

async function withSmallerStep(steps: readonly Step[], fails: Fails): Promise<Step[] | null> {
  for (const [at, step] of steps.entries()) {
    for (const op of simpler(step.op)) {
      const candidate = steps.map((other, i) => (i === at ? { ...step, op } : other));
      if (await fails(candidate)) return candidate;
    }
  }
  return null;
}

/** The same operation with one thing less. */
function simpler(op: Op): Op[] {
  switch (op.kind) {
    case 'push':
      return op.items.length < 2 ? [] : without(op.items).map((items) => ({ ...op, items }));
    case 'ack':
      return op.items.length < 2 ? [] : without(op.items).map((items) => ({ ...op, items }));
    case 'transaction':
      return [
        ...without(op.acks).map((acks) => ({ ...op, acks })),
        ...without(op.pushes).map((pushes) => ({ ...op, pushes })),
        ...without(op.positions).map((positions) => ({ ...op, positions })),
        ...without(op.required).map((required) => ({ ...op, required })),
      ];
    case 'configure':
      return Object.keys(op.options).map((name) => ({
        ...op,
        options: Object.fromEntries(Object.entries(op.options).filter(([key]) => key !== name)),
      }));
    default:
      return [];
  }
}

function without<T>(items: readonly T[]): T[][] {
  return items.map((_, at) => items.filter((__, i) => i !== at));
}
