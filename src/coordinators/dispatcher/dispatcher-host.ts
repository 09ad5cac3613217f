/**
 * What the dispatcher needs from its group and from the outside, as narrow types: tables to read,
 * proposals, events, the log clock. Everything else (sockets, timers of requests) stays with the group.
 */
import type { ClaimCommand, Outcome } from '../../machine/commands/catalogue.js';
import type { MachineEvents } from '../../machine/machine.js';
import type { Tables } from '../../machine/tables/tables.js';
import type { GroupView, PreparedCommand } from '../../raft/group/group.js';
import type { AutopilotOptions } from './autopilot.js';

export interface DispatcherHost {
  readonly tables: Tables;
  listen(events: Partial<MachineEvents>): () => void;
  propose(command: PreparedCommand): Promise<Outcome>;
  view(): Promise<GroupView>;
  /** Log-clock reading in µs: never above the stamp the next entry gets. */
  nowMicros(): number;
  /** Term this node leads. */
  term(): number;
}

export interface DispatcherOptions {
  /** A lease timed by another term is held this much longer (QUEEN_RAFT_MAX_CLOCK_SKEW_MS). */
  readonly skewMicros: number;
  /** A pop closer than this to its deadline never claims (QUEEN_RAFT_POP_REPLY_MARGIN_MS). */
  readonly replyMarginMs: number;
  /** Payload bytes one answer may hold; at least one message is always delivered. */
  readonly maxPopBytes: number;
  /** Absent: the documented defaults. */
  readonly autopilot?: AutopilotOptions;
  /** A pop asked for another delivery policy than its group's stored one. */
  readonly onConflict?: (queue: string, group: string) => void;
  /** Interval of the sweep over expired leases and overdue pops. */
  readonly tickMs: number;
  /** Lanes without pops for this long are dropped (QUEEN_CONSUME_IDLE_UNLOAD_S). */
  readonly idleLaneMs: number;
  readonly monotonicMs: () => number;
  readonly mintLeaseId: () => Uint8Array;
  readonly encodeClaim: (command: ClaimCommand) => Uint8Array;
}
