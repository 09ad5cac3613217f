/** Words that every load generator shares: how long, over what, and what came of it. */
import { Connection } from './connection.js';
import type { LatencySummary } from './latency-record.js';

export interface LoadWindow {
  readonly warmupMs: number;
  readonly measureMs: number;
}

export interface LoadTarget extends LoadWindow {
  readonly port: number;
  /** Nodes of a cluster: connections go to them in turn, instead of to `port`. */
  readonly ports?: readonly number[];
  readonly connections: number;
}

export interface LoadFigures {
  /** HTTP requests answered well inside the window. */
  readonly requests: number;
  readonly messages: number;
  /** Bytes of the bodies that carried the messages. */
  readonly bytes: number;
  readonly seconds: number;
  readonly latency: LatencySummary;
  /** Requests that were refused or got a surprising answer, warm-up included. */
  readonly refused: number;
  /** The first of them, for the eyes. */
  readonly firstRefusal?: string;
}

export function openConnections({ port, ports, connections }: LoadTarget): Promise<Connection[]> {
  const all = ports ?? [port];
  return Promise.all(
    Array.from({ length: connections }, (_, i) => Connection.open(all[i % all.length] ?? port)),
  );
}

/** Counts inside the window [from, to); tells the generators when to stop. */
export class Stopwatch {
  readonly from: number;
  readonly to: number;

  constructor({ warmupMs, measureMs }: LoadWindow) {
    this.from = performance.now() + warmupMs;
    this.to = this.from + measureMs;
  }

  counts(now: number): boolean {
    return now >= this.from && now < this.to;
  }

  isOver(now: number): boolean {
    return now >= this.to;
  }
}
