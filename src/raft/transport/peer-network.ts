/**
 * The peers of one raft group over real sockets: implements PeerPort. It owns the raft port and one
 * link per peer and chooses stream and lane for what is sent. It knows nothing about roles: whatever
 * is lost or does not fit is sent again by whoever needs it.
 */
import type { NodeId } from '../../common/ids.js';
import { invariant } from '../../common/invariant.js';
import type { Message } from '../core/index.js';
import type { AddressBook } from '../group/cluster/members.js';
import type {
  ChannelListener,
  DigestReport,
  ForwardedPop,
  LeaderView,
  NodeAddress,
  PeerChannel,
  PeerHandlers,
  PeerPort,
  StateAnswer,
  StateQuery,
} from '../group/cluster/peer-port.js';
import type { SnapshotStream, SnapshotVerdict } from '../group/cluster/snapshot-port.js';
import { contextOf } from './context.js';
import { serveEntries } from './entry-transfer.js';
import { FrameKind, FrameWriter } from './frame.js';
import { ASK_PATH, ENTRIES_PATH, SNAPSHOT_PATH, STATE_PATH } from './handshake.js';
import type { PeerIdentity, StreamKind } from './handshake.js';
import { Inbound } from './inbound.js';
import { writeMessage } from './message-codec.js';
import { splitAddress } from './options.js';
import type { PeerAddress, PeerNetworkOptions, TransportContext } from './options.js';
import type { MemberQuestions, Question } from '../member-questions.js';
import type { Lane } from './outbox.js';
import { PeerLink, type LinkHooks } from './peer-link.js';
import { PeerServer, type UnaryRoute } from './peer-server.js';
import { writePop, writeTicket, type PopTicket } from './pop-codec.js';
import { writeDigest, writeView } from './report-codec.js';
import { receiveSnapshot, sendSnapshot, type SnapshotCall } from './snapshot-transfer.js';
import { callState, MAX_STATE_BYTES, type StateCall } from './state-call.js';
import { decodeStateQuery, encodeStateAnswer } from './state-codec.js';
import { callPeer } from './unary-call.js';

const MAX_QUESTION_BYTES = 64 * 1024;
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/** Bytes waiting for the socket of one peer. */
export interface QueueFigures {
  readonly control: number;
  readonly appends: number;
  readonly commands: number;
  readonly answers: number;
}

/** A guest that never got a link is forgotten after this time. */
const GUEST_MS = 30_000;

export class PeerNetwork implements PeerPort, MemberQuestions {
  readonly channel: PeerChannel = {
    send: (to, parts) => this.sendChannel(to, parts),
    isConnected: (peer) => this.isConnected(peer),
    listen: (listener) => {
      this.listener = listener;
    },
  };
  streamsOpened = 0;
  private listener: ChannelListener | null = null;
  private readonly context: TransportContext;
  private readonly server: PeerServer;
  private readonly links = new Map<NodeId, PeerLink>();
  /** Nodes that dialled this one and are no members here (yet), and when they came. */
  private readonly guests = new Map<NodeId, number>();
  private readonly calls = new Set<Pick<StateCall | SnapshotCall, 'cancel'>>();
  private readonly routes = new Map<string, UnaryRoute>();
  private readonly writer = new FrameWriter();
  private peers: readonly PeerAddress[];
  private handlers: PeerHandlers | undefined;
  private hooks: LinkHooks | undefined;

  /** Throws when the token cannot be sent in a header. */
  constructor(private readonly options: PeerNetworkOptions) {
    this.context = contextOf(options);
    this.peers = options.peers;
    const state = {
      maxBodyBytes: MAX_STATE_BYTES,
      answer: (body: string) => this.answerState(body),
    };
    this.routes.set(STATE_PATH, state);
    this.server = new PeerServer(this.context, {
      routes: this.routes,
      streams: new Map([
        [
          SNAPSHOT_PATH,
          (request, response) => {
            if (this.handlers === undefined) request.destroy();
            else void receiveSnapshot(request, response, this.handlers);
          },
        ],
        [
          ENTRIES_PATH,
          (request, response) => {
            const { handlers, context } = this;
            if (handlers === undefined) request.destroy();
            else void serveEntries(request, response, { handlers, context });
          },
        ],
      ]),
      objection: (peer) => this.objection(peer),
      arrived: (arrival) => {
        const link = this.links.get(arrival.peer.nodeId);
        if (link === undefined) arrival.socket.destroy();
        else link.accept(arrival);
      },
    });
  }

  /** The bound port; 0 before start. */
  get port(): number {
    return this.server.port;
  }

  /** Whether streams stand in both directions. */
  isConnected(peer: NodeId): boolean {
    return this.links.get(peer)?.isUp ?? false;
  }

  figures(peer: NodeId): QueueFigures {
    const bytes = (kind: StreamKind, lane: Lane): number =>
      this.links.get(peer)?.queuedBytes(kind, lane) ?? 0;
    return {
      control: bytes('control', 'answer'),
      appends: bytes('data', 'append'),
      commands: bytes('data', 'command'),
      answers: bytes('data', 'answer'),
    };
  }

  async start(handlers: PeerHandlers): Promise<void> {
    invariant(this.handlers === undefined, 'transport started twice');
    this.handlers = handlers;
    const inbound = new Inbound(this.options.self, handlers, (from, body) =>
      this.listener?.received(from, body),
    );
    await this.server.start(this.options.listen);
    this.hooks = {
      frame: (link, stream, code, body) => inbound.frame(link, stream, code, body),
      up: (link) => {
        this.streamsOpened += 1;
        inbound.up(link);
      },
      down: (link) => {
        if (this.hooks === undefined) return;
        handlers.disconnected(link.address.nodeId);
        this.listener?.disconnected(link.address.nodeId);
      },
    };
    this.setPeers(this.peers);
  }

  /** The members from now on; before `start` it only replaces the list. Streams to others end. */
  setPeers(peers: readonly PeerAddress[]): void {
    this.peers = peers;
    const { hooks } = this;
    if (hooks === undefined) return;
    const wanted = new Map(peers.map((peer) => [peer.nodeId, peer]));
    wanted.delete(this.options.self);
    for (const [id, link] of [...this.links]) {
      const address = wanted.get(id);
      const { host, port } = link.address;
      if (address?.host === host && address.port === port) continue;
      this.links.delete(id);
      this.guests.delete(id);
      link.stop();
    }
    for (const [id, address] of wanted) {
      this.guests.delete(id);
      if (!this.links.has(id)) this.open(address, hooks);
    }
  }

  setMembers(addresses: AddressBook): void {
    this.setPeers(peersOf(addresses));
  }

  kindsOf(node: NodeId): number | null {
    const link = this.links.get(node);
    return link?.isUp === true ? link.kinds : null;
  }

  private open(address: PeerAddress, hooks: LinkHooks): void {
    const link = new PeerLink(address, this.context, hooks);
    this.links.set(address.nodeId, link);
    link.start();
  }

  /**
   * A member that this node has not heard of yet (its log is behind) may be the one to bring it up to
   * date, so whoever knows cluster and token and tells where it listens is answered.
   */
  private objection(peer: PeerIdentity): string | null {
    const { hooks, handlers, context } = this;
    if (hooks === undefined || handlers === undefined) return 'is not ready';
    const directoryId = Buffer.from(peer.directoryId, 'hex');
    const objection = handlers.objection(peer.nodeId, directoryId);
    if (objection !== null) return objection;
    if (this.links.has(peer.nodeId)) return null;
    const place = splitAddress(peer.address);
    if (place === null) return 'is no member here';
    this.dropStaleGuests();
    if (this.guests.size >= context.limits.guests) return 'is no member here, and guests are many';
    this.guests.set(peer.nodeId, performance.now());
    this.open({ nodeId: peer.nodeId, ...place }, hooks);
    return null;
  }

  private dropStaleGuests(): void {
    const now = performance.now();
    for (const [id, since] of this.guests) {
      const link = this.links.get(id);
      if (link?.isUp === true || now - since < GUEST_MS) continue;
      this.guests.delete(id);
      this.links.delete(id);
      link?.stop();
    }
  }

  send(message: Message): void {
    const [stream, lane] = routeOf(message);
    const link = this.links.get(message.to);
    if (link === undefined || !link.hasRoom(stream, lane)) return;
    this.writer.begin(FrameKind.Message);
    writeMessage(this.writer, message);
    link.send(stream, lane, this.writer.finish());
  }

  forwardCommand(to: NodeId, bytes: Uint8Array): boolean {
    const link = this.readyLink(to);
    if (link === undefined) return false;
    this.writer.begin(FrameKind.Command);
    this.writer.payload(bytes);
    return link.send('data', 'command', this.writer.finish());
  }

  forwardPop(to: NodeId, pop: ForwardedPop): boolean {
    const link = this.readyLink(to);
    if (link === undefined) return false;
    writePop(this.writer.begin(FrameKind.Pop), pop);
    return link.send('data', 'command', this.writer.finish());
  }

  cancelPop(to: NodeId, ticket: PopTicket): void {
    writeTicket(this.writer.begin(FrameKind.PopCancel), ticket);
    this.links.get(to)?.send('data', 'answer', this.writer.finish());
  }

  broadcastView(view: LeaderView): void {
    writeView(this.writer.begin(FrameKind.View), view);
    const frame = this.writer.finish();
    for (const link of this.links.values()) link.send('data', 'answer', frame);
  }

  sendDigest(to: NodeId, report: DigestReport): void {
    writeDigest(this.writer.begin(FrameKind.Digest), report);
    this.links.get(to)?.send('data', 'answer', this.writer.finish());
  }

  async queryState(to: NodeId, query: StateQuery, timeoutMs: number): Promise<StateAnswer | null> {
    return this.stateOf(this.addressOf(to), query, timeoutMs);
  }

  async probe(
    node: NodeAddress,
    query: StateQuery,
    timeoutMs: number,
  ): Promise<StateAnswer | null> {
    const place = splitAddress(node.raft);
    const address = place === null ? undefined : { nodeId: node.nodeId, ...place };
    return this.stateOf(address, query, timeoutMs);
  }

  async sendSnapshot(to: NodeId, stream: SnapshotStream): Promise<SnapshotVerdict | 'failed'> {
    const address = this.addressOf(to);
    if (address === undefined) return 'failed';
    const call = sendSnapshot(address, stream, this.context);
    this.calls.add(call);
    try {
      return await call.verdict;
    } finally {
      this.calls.delete(call);
    }
  }

  others(): readonly NodeId[] {
    const { self } = this.options;
    return this.peers.map(({ nodeId }) => nodeId).filter((id) => id !== self);
  }

  answer(name: string, answer: (body: string) => Promise<string>): void {
    // A question that fails here is a member that does not answer.
    const orNothing = (body: string): Promise<string | null> => answer(body).catch(() => null);
    this.routes.set(ASK_PATH + name, { maxBodyBytes: MAX_QUESTION_BYTES, answer: orNothing });
  }

  async ask(to: NodeId, { name, body, timeoutMs }: Question): Promise<string | null> {
    const address = this.addressOf(to);
    if (address === undefined) return null;
    const path = ASK_PATH + name;
    const request = { path, body, timeoutMs, maxAnswerBytes: MAX_ANSWER_BYTES };
    const call = callPeer(address, request, this.context);
    this.calls.add(call);
    try {
      return await call.answer;
    } finally {
      this.calls.delete(call);
    }
  }

  /** Ends every connection; no handler is called for it. */
  async stop(): Promise<void> {
    this.hooks = undefined;
    for (const call of this.calls) call.cancel();
    for (const link of this.links.values()) link.stop();
    this.links.clear();
    await this.server.stop();
  }

  private sendChannel(to: NodeId, parts: readonly Uint8Array[]): boolean {
    const link = this.readyLink(to);
    if (link === undefined) return false;
    this.writer.begin(FrameKind.Channel);
    for (const part of parts) this.writer.payload(part);
    return link.send('data', 'command', this.writer.finish());
  }

  private readyLink(to: NodeId): PeerLink | undefined {
    const link = this.links.get(to);
    return link?.isUp === true && link.hasRoom('data', 'command') ? link : undefined;
  }

  private addressOf(to: NodeId): PeerAddress | undefined {
    const known = this.peers.find(({ nodeId }) => nodeId === to);
    return known ?? this.links.get(to)?.address;
  }

  private async stateOf(
    address: PeerAddress | undefined,
    query: StateQuery,
    timeoutMs: number,
  ): Promise<StateAnswer | null> {
    if (address === undefined) return null;
    const call = callState(address, query, timeoutMs, this.context);
    this.calls.add(call);
    try {
      return await call.answer;
    } finally {
      this.calls.delete(call);
    }
  }

  private answerState(body: string): string | null {
    const query = decodeStateQuery(body);
    if (query === null || this.handlers === undefined) return null;
    return encodeStateAnswer(this.handlers.state(query));
  }
}

/** Members whose raft address is known. */
export function peersOf(addresses: AddressBook): PeerAddress[] {
  const peers: PeerAddress[] = [];
  for (const [id, { raft }] of addresses) {
    const place = raft === null ? null : splitAddress(raft);
    if (place !== null) peers.push({ nodeId: id, ...place });
  }
  return peers;
}

/** Votes, heartbeats and reads never queue behind appends. */
function routeOf(message: Message): readonly [StreamKind, Lane] {
  switch (message.kind) {
    case 'append-request':
    case 'propose':
    case 'snapshot':
      return ['data', 'append'];
    case 'append-response':
      return ['data', 'answer'];
    default:
      return ['control', 'answer'];
  }
}
