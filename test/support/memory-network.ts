/**
 * Peers of one process for tests: frames travel through the event loop in order, links can be cut in
 * one direction or both. Message bytes are not encoded; the transport has its own specs.
 */
import type { NodeId } from '../../src/common/ids.js';
import type { Message } from '../../src/raft/core/index.js';
import type {
  DigestReport,
  ForwardedPop,
  LeaderView,
  PeerHandlers,
  PeerPort,
  PopReply,
  StateAnswer,
  StateQuery,
  NodeAddress,
} from '../../src/raft/group/cluster/peer-port.js';
import type {
  SnapshotStream,
  SnapshotVerdict,
} from '../../src/raft/group/cluster/snapshot-port.js';
import type { PopTicket } from '../../src/machine/commands/catalogue.js';

export class MemoryNetwork {
  private readonly nodes = new Map<NodeId, PeerHandlers>();
  private readonly cuts = new Set<string>();
  /** By node and name of the question. */
  readonly answers = new Map<string, (body: string) => Promise<string>>();

  port(self: NodeId): PeerPort {
    return new MemoryPeers(this, self);
  }

  cut(from: NodeId, to: NodeId): void {
    this.cuts.add(`${from}>${to}`);
  }

  isolate(node: NodeId): void {
    for (const other of this.nodes.keys()) {
      if (other === node) continue;
      this.cut(node, other);
      this.cut(other, node);
    }
  }

  heal(): void {
    this.cuts.clear();
  }

  join(self: NodeId, handlers: PeerHandlers): void {
    this.nodes.set(self, handlers);
    for (const [id, other] of this.nodes) {
      if (id === self) continue;
      setImmediate(() => {
        other.connected(self);
        handlers.connected(id);
      });
    }
  }

  leave(self: NodeId): void {
    this.nodes.delete(self);
    for (const other of this.nodes.values()) setImmediate(() => other.disconnected(self));
  }

  others(self: NodeId): NodeId[] {
    return [...this.nodes.keys()].filter((id) => id !== self);
  }

  isLinked(from: NodeId, to: NodeId): boolean {
    return this.nodes.has(to) && this.nodes.has(from) && !this.cuts.has(`${from}>${to}`);
  }

  /** Delivers later in this process; nothing when the link is down by then. */
  deliver(from: NodeId, to: NodeId, deliver: (handlers: PeerHandlers) => void): boolean {
    if (!this.isLinked(from, to)) return false;
    setImmediate(() => {
      const handlers = this.nodes.get(to);
      if (handlers !== undefined && this.isLinked(from, to)) deliver(handlers);
    });
    return true;
  }

  ask(from: NodeId, to: NodeId, query: StateQuery): StateAnswer | null {
    return this.reachable(from, to)?.state(query) ?? null;
  }

  /** The other end while both directions stand. */
  reachable(from: NodeId, to: NodeId): PeerHandlers | null {
    if (!this.isLinked(from, to) || !this.isLinked(to, from)) return null;
    return this.nodes.get(to) ?? null;
  }
}

class MemoryPeers implements PeerPort {
  constructor(
    private readonly network: MemoryNetwork,
    private readonly self: NodeId,
  ) {}

  start(handlers: PeerHandlers): Promise<void> {
    this.network.join(this.self, handlers);
    return Promise.resolve();
  }

  send(message: Message): void {
    this.network.deliver(this.self, message.to, (handlers) => handlers.message(message));
  }

  forwardCommand(to: NodeId, bytes: Uint8Array): boolean {
    const copy = bytes.slice();
    return this.network.deliver(this.self, to, (handlers) => {
      if (handlers.command(this.self, copy)) return;
      this.network.deliver(to, this.self, (own) => own.commandRefused(to));
    });
  }

  forwardPop(to: NodeId, pop: ForwardedPop): boolean {
    return this.network.deliver(this.self, to, (handlers) => {
      handlers.pop(this.self, pop, (reply: PopReply) => {
        this.network.deliver(to, this.self, (own) => own.popReply(to, pop.ticket, reply));
      });
    });
  }

  cancelPop(to: NodeId, ticket: PopTicket): void {
    this.network.deliver(this.self, to, (handlers) => handlers.popCancelled(this.self, ticket));
  }

  broadcastView(view: LeaderView): void {
    for (const to of this.network.others(this.self)) {
      this.network.deliver(this.self, to, (handlers) => handlers.leaderView(view));
    }
  }

  sendDigest(to: NodeId, report: DigestReport): void {
    this.network.deliver(this.self, to, (handlers) => handlers.digest(this.self, report));
  }

  queryState(to: NodeId, query: StateQuery): Promise<StateAnswer | null> {
    return Promise.resolve(this.network.ask(this.self, to, query));
  }

  probe(node: NodeAddress, query: StateQuery): Promise<StateAnswer | null> {
    return this.queryState(node.nodeId, query);
  }

  setMembers(): void {
    // Everybody reaches everybody here.
  }

  kindsOf(): number | null {
    return null;
  }

  async ask(
    to: NodeId,
    { name, body }: { readonly name: string; readonly body: string },
  ): Promise<string | null> {
    if (this.network.reachable(this.self, to) === null) return null;
    return (await this.network.answers.get(`${to} ${name}`)?.(body)) ?? null;
  }

  answer(name: string, answer: (body: string) => Promise<string>): void {
    this.network.answers.set(`${this.self} ${name}`, answer);
  }

  async sendSnapshot(to: NodeId, stream: SnapshotStream): Promise<SnapshotVerdict | 'failed'> {
    const receiver = this.network.reachable(this.self, to);
    return (await receiver?.snapshot(stream.offer, stream.bytes())) ?? 'failed';
  }

  stop(): Promise<void> {
    this.network.leave(this.self);
    return Promise.resolve();
  }
}
