/** Sampled warnings: one line per event and peer in ten seconds, with the number left out. */
import type { GroupLog } from '../group/ports.js';
import type { Warnings } from './options.js';

const EVERY_MS = 10_000;
/** Peers x events; beyond it the oldest key is forgotten. */
const MAX_KEYS = 1024;

interface Seen {
  atMs: number;
  suppressed: number;
}

export function sampledWarnings(log: GroupLog): Warnings {
  const seen = new Map<string, Seen>();
  return {
    warn(event, peer, fields = {}) {
      const key = `${event} ${peer ?? ''}`;
      const nowMs = performance.now();
      const last = seen.get(key);
      if (last !== undefined && nowMs - last.atMs < EVERY_MS) {
        last.suppressed += 1;
        return;
      }
      seen.delete(key);
      seen.set(key, { atMs: nowMs, suppressed: 0 });
      const oldest = seen.keys().next().value;
      if (seen.size > MAX_KEYS && oldest !== undefined) seen.delete(oldest);
      log.warn(event, { peer, ...fields, suppressed: last?.suppressed ?? 0 });
    },
  };
}
