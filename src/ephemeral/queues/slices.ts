/** Walks over many things without holding the event loop: others have their turn after each slice. */

const SLICE = 1000;

export async function inSlices<T>(items: Iterable<T>, visit: (item: T) => void): Promise<void> {
  let left = SLICE;
  for (const item of items) {
    visit(item);
    left -= 1;
    if (left > 0) continue;
    left = SLICE;
    await nextTurn();
  }
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
