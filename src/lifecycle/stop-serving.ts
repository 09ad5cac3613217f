/**
 * Ends the process in bounded time whatever a client or a raft group is waiting for (cluster.md §1.11;
 * process managers give 60 s). Connections without a request are closed at once, requests in flight are
 * let finish, what is left then is cut, so that the groups still close in time; last of all the process
 * ends as it is, which the next start treats like a crash.
 */
import type { TargetLogger } from '../logging/index.js';

export interface StopBounds {
  /** A connection on which nothing was asked for so long is idle. */
  readonly silentMs: number;
  /** After the signal: requests still in flight are cut. */
  readonly cutMs: number;
  /** After the signal: the end, finished or not. */
  readonly endMs: number;
}

/** The ephemeral drain takes 15 s, a call in flight mostly no more than 30 s. */
export const STOP_BOUNDS: StopBounds = { silentMs: 1_000, cutMs: 46_000, endMs: 56_000 };

const IDLE_SWEEP_MS = 50;

export interface StopParts {
  readonly connections: { closeIdle(silentForMs: number): void; closeAll(): void };
  readonly log: TargetLogger;
  /** Everything in its order; resolves when the groups are closed. */
  close(): Promise<void>;
}

/** True when all of it ended; false when it did not in time. Rejects when a step failed. */
export async function stopServing(parts: StopParts, bounds: StopBounds): Promise<boolean> {
  const { connections, log } = parts;
  const timers: NodeJS.Timeout[] = [];
  // A connection that turns idle while the port closes would keep it open until its client leaves.
  timers.push(setInterval(() => connections.closeIdle(bounds.silentMs), IDLE_SWEEP_MS));
  const cut = (): void => {
    log.warn('requests in flight take too long, their connections are cut', {
      after_ms: bounds.cutMs,
    });
    timers.push(setInterval(() => connections.closeAll(), IDLE_SWEEP_MS));
  };
  timers.push(setTimeout(cut, bounds.cutMs));
  const late = new Promise<false>((resolve) => {
    timers.push(setTimeout(() => resolve(false), bounds.endMs));
  });
  try {
    return await Promise.race([parts.close().then(() => true), late]);
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}
