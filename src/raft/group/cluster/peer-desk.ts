/**
 * What comes from the other members, judged before it goes further in: nothing reaches the core before
 * this node is admitted, and no foreign bytes enter the log unchecked (a command that does not decode
 * inside a committed entry would stop every node). Claims come from the own dispatcher only.
 */
import type { LogIndex, NodeId } from '../../../common/ids.js';
import { logIndex } from '../../../common/ids.js';
import { COMMAND_HEADER, CommandKind } from '../../../machine/commands/catalogue.js';
import type { Tables } from '../../../machine/tables/tables.js';
import type { Message } from '../../core/index.js';
import type { GroupLog, MachineParts } from '../ports.js';
import type { CommandFlow } from '../command-flow.js';
import type { CommandRoutes } from './command-routes.js';
import type { DivergenceWatch } from './divergence-watch.js';
import { entriesFor, type EntryDeskParts } from './entry-desk.js';
import type { EntryPacker } from './entry-packer.js';
import type { LeaveRecord } from './leave-record.js';
import type { MemberBook } from './member-book.js';
import type { PeerHandlers, StateAnswer, StateQuery } from './peer-port.js';
import type { PopRouter } from './pop-router.js';
import type { PopServer } from './pop-server.js';
import type { QuorumWatch } from './quorum-watch.js';
import type { RaftLoop } from './raft-loop.js';
import type { SnapshotDesk } from './snapshot-desk.js';

export interface PeerDeskParts {
  readonly loop: RaftLoop;
  readonly packer: EntryPacker;
  readonly routes: CommandRoutes;
  readonly pops: PopRouter;
  readonly popServer: PopServer;
  readonly watch: QuorumWatch;
  readonly divergence: DivergenceWatch;
  readonly book: MemberBook;
  readonly snapshots: SnapshotDesk;
  readonly leavers: LeaveRecord;
  readonly nodeId: NodeId;
  readonly kinds: number;
  readonly commands: MachineParts['commands'];
  readonly tables: Tables;
  readonly log: GroupLog;
  readonly wal: EntryDeskParts['wal'];
  readonly flow: CommandFlow;
  /** Admitted and not stopped. */
  takesPart(): boolean;
  /** Its vote counts: see VoteRight. */
  mayVote(): boolean;
  applied(): LogIndex;
  leader(): NodeId;
  lastIndex(): LogIndex;
  reroute(): void;
}

export function peerHandlers(parts: PeerDeskParts): PeerHandlers {
  const { loop, routes, pops, popServer, watch, divergence } = parts;
  return {
    message: (message: Message) => {
      if (!parts.takesPart()) return;
      if (message.kind === 'vote-request' && !parts.mayVote()) return;
      if (message.kind === 'timeout-now' && message.from === parts.leader()) {
        parts.leavers.handedOver(message.from);
      }
      loop.step(message);
    },
    command: (from, bytes) => takeCommand(parts, from, bytes),
    commandRefused: () => routes.refused(),
    pop: (from, pop, reply) => {
      if (parts.book.has(from)) popServer.serve(from, pop, reply);
      else reply({ kind: 'refused', code: 'retry' });
    },
    popCancelled: (from, ticket) => popServer.cancel(from, ticket),
    popReply: (from, ticket, reply) => pops.reply(from, ticket, reply),
    leaderView: (view) => watch.received(view),
    digest: (from, report) => {
      if (parts.takesPart()) divergence.received(from, report);
    },
    disconnected: (peer) => {
      popServer.dropNode(peer);
      if (!parts.takesPart()) return;
      loop.reportUnreachable(peer);
      if (peer === parts.leader()) parts.reroute();
    },
    connected: (peer) => {
      if (parts.takesPart() && peer === parts.leader()) parts.reroute();
    },
    state: (query) => answerState(parts, query),
    objection: (node, directoryId) => objectionTo(parts, node, directoryId),
    snapshot: (offer, bytes) => parts.snapshots.take(offer, bytes),
    entries: (indexes) => entriesFor(parts, indexes),
  };
}

/** False = not the leader here. What can never be applied is dropped: its node is told by silence. */
function takeCommand(parts: PeerDeskParts, from: NodeId, bytes: Uint8Array): boolean {
  const admitted = admitCommand(parts, from, bytes);
  const { figures } = parts.flow;
  if (admitted) figures.forwardedAdmitted += 1;
  else figures.forwardedRefused += 1;
  return admitted;
}

function admitCommand(parts: PeerDeskParts, from: NodeId, bytes: Uint8Array): boolean {
  if (!parts.takesPart() || !parts.packer.isOpen || !parts.book.has(from)) return false;
  const refusal = parts.commands.check(bytes);
  const foreignClaim = bytes[COMMAND_HEADER.kind] === CommandKind.Claim;
  if (refusal === null && !foreignClaim) return parts.packer.add(bytes, null);
  const why = refusal ?? 'claims are made by the leader';
  parts.log.error('forwarded command refused', { from, why });
  return true;
}

function answerState(parts: PeerDeskParts, query: StateQuery): StateAnswer {
  const status = parts.loop.status();
  const progress = status.peers.find((peer) => peer.id === query.nodeId);
  return {
    nodeId: parts.nodeId,
    kinds: parts.kinds,
    holdsState: parts.lastIndex() > 0,
    boundDirectoryId: parts.tables.sessions.directoryOf(query.nodeId) ?? null,
    acknowledged: progress?.match ?? logIndex(0),
    term: status.term,
  };
}

/** A voter that lost its disk must not pass for the one that acknowledged entries. */
function objectionTo(parts: PeerDeskParts, node: NodeId, directoryId: Uint8Array): string | null {
  const bound = parts.tables.sessions.directoryOf(node);
  if (bound === undefined || directoryId.length === 0) return null;
  if (bound.every((byte, i) => byte === directoryId[i])) return null;
  return 'is bound to another data directory: remove the member before its disk is emptied';
}
