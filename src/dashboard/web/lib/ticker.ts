/** One tick for all pages, every 30 s, silent while nobody looks at the tab. */
import { ref } from 'vue';

const EVERY_MS = 30_000;
const listeners = new Set<() => void>();

/** Raised by every tick: relative times are written anew. */
export const ticks = ref(0);

export function onTick(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function tickNow(): void {
  ticks.value += 1;
  for (const listener of [...listeners]) listener();
}

setInterval(() => {
  if (document.visibilityState === 'visible') tickNow();
}, EVERY_MS);

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') tickNow();
});
