/**
 * What the serving leader sees to by itself, a little at a time: that the log says who the members
 * are, that nodes which left are released from their directories, that the cluster version rises once
 * every member reads it, that a leader nobody answers hands over, and that a group goes back to its
 * preferred node. Each proposal names the state it
 * saw, so losing or repeating one is harmless.
 */
import type { NodeId, Term } from '../../../common/ids.js';
import type { Tables } from '../../../machine/tables/tables.js';
import type { GroupLog, MachineParts } from '../ports.js';
import { mostCaughtUp } from './hand-off.js';
import type { MemberBook } from './member-book.js';
import type { MemberRole } from './member-role.js';
import type { PeerPort } from './peer-port.js';
import type { PreferredLeader } from './preferred-leader.js';
import type { RaftLoop } from './raft-loop.js';

/** Pause between two attempts at the same thing. */
const RETRY_MS = 1_000;
/** A voter that may take over acknowledged this recently, if one did. */
const FRESH_MS = 1_000;

/** A leader is new for so many of the periods after which a silent one hands over. */
const NEW_LEADER_PERIODS = 3;

export interface CaretakerPort {
  readonly self: NodeId;
  readonly kinds: number;
  readonly tables: Pick<Tables, 'sessions'>;
  readonly commands: Pick<MachineParts['commands'], 'forgetNode' | 'raiseVersion'>;
  readonly book: MemberBook;
  readonly role: MemberRole;
  readonly peers: Pick<PeerPort, 'kindsOf'>;
  readonly log: GroupLog;
  readonly nowMs: () => number;
  readonly tickMs: number;
  /** How often the cluster version is looked at; 0 = it never rises. */
  readonly clusterVersionMs: number;
  /**
   * A leader without a majority for so long asks another voter to take over; not while it is new, for the
   * members of a cluster that starts are slow to answer, and who handed over is not given leadership back.
   */
  readonly handOverAfterMs: number;
  /** Absent: whoever won the election keeps leading. */
  readonly preferred?: PreferredLeader;
  loop(): Pick<RaftLoop, 'status' | 'proposeChange' | 'transferLeadership'>;
  clusterVersion(): number;
  /** Since a majority was heard, without the time this process stood still itself. */
  unheardMs(): number;
  propose(command: Uint8Array): void;
}

export class Caretaker {
  private toldTerm: Term | null = null;
  private readonly forgetAtMs = new Map<NodeId, number>();
  private versionAtMs = 0;
  private handOverAtMs = 0;
  private led = { term: 0, sinceMs: 0 };

  constructor(private readonly port: CaretakerPort) {}

  /** Called a few times a second. */
  tick(): void {
    if (this.port.role.leads) this.handOver();
    if (!this.port.role.established) return;
    this.tellMembers();
    this.forgetStrangers();
    this.raiseVersion();
    this.port.preferred?.tick();
  }

  /** The first entry about members: a node that joins learns from the log who they are. */
  private tellMembers(): void {
    const { book, role, self } = this.port;
    if (book.index > 0 || this.toldTerm === role.term) return;
    const result = this.port.loop().proposeChange({
      transition: 'auto',
      changes: [{ action: 'update', node: self }],
      context: book.contextFor(),
    });
    if (result.outcome === 'appended') this.toldTerm = role.term;
  }

  private forgetStrangers(): void {
    const { tables, book, nowMs, commands } = this.port;
    const now = nowMs();
    for (const number of tables.sessions.nodes()) {
      const node = number as NodeId;
      if (book.has(node) || (this.forgetAtMs.get(node) ?? 0) > now) continue;
      this.forgetAtMs.set(node, now + RETRY_MS);
      this.port.propose(commands.forgetNode(node, tables.sessions.ofNode(node)));
    }
  }

  private raiseVersion(): void {
    const { clusterVersionMs, nowMs, kinds, book, self, peers, log, commands } = this.port;
    if (clusterVersionMs === 0 || nowMs() < this.versionAtMs) return;
    this.versionAtMs = nowMs() + clusterVersionMs;
    const now = this.port.clusterVersion();
    if (kinds <= now) return;
    const read = book.ids.map((id) => (id === self ? kinds : (peers.kindsOf(id) ?? 0)));
    const version = Math.min(...read);
    if (version <= now) return;
    log.info('raft: every member reads a newer cluster version', { from: now, to: version });
    this.port.propose(commands.raiseVersion(version));
  }

  /** A leader that can send but not receive is replaced by whoever can do both. */
  private handOver(): void {
    const { nowMs, handOverAfterMs, unheardMs, tickMs, log, role } = this.port;
    const now = nowMs();
    if (this.led.term !== role.term) this.led = { term: role.term, sinceMs: now };
    if (now - this.led.sinceMs < NEW_LEADER_PERIODS * handOverAfterMs) return;
    const silentMs = unheardMs();
    if (silentMs < handOverAfterMs || now < this.handOverAtMs) return;
    this.handOverAtMs = now + handOverAfterMs;
    const loop = this.port.loop();
    const status = loop.status();
    const to = mostCaughtUp(status, FRESH_MS / tickMs) ?? mostCaughtUp(status, Infinity);
    if (to === null) return;
    log.warn('raft: no quorum acknowledgement: handing leadership to another voter', {
      to,
      silent_ms: Math.round(silentMs),
    });
    loop.transferLeadership(to);
  }
}
