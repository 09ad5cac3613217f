/**
 * Streams between simulated nodes. In order within a stream (votes and heartbeats, entries, the rest),
 * out of order across them; messages of the core, views and digests may be lost or doubled; commands
 * and pops are lost only with their link, and doubled. Links are cut in one direction or both; the ends
 * notice late.
 */
import type { NodeId } from '../../../src/common/ids.js';
import type { Message } from '../../../src/raft/core/index.js';
import type { PeerHandlers, PeerPort } from '../../../src/raft/group/cluster/peer-port.js';
import type {
  SnapshotStream,
  SnapshotVerdict,
} from '../../../src/raft/group/cluster/snapshot-port.js';
import type { Prng } from '../core/prng.js';
import type { VirtualTime } from './virtual-time.js';

export interface NetworkWeather {
  minMicros: number;
  maxMicros: number;
  drop: number;
  duplicate: number;
}

export interface NetworkOptions {
  readonly time: VirtualTime;
  readonly prng: Prng;
  readonly weather: NetworkWeather;
  /** Sees every message of the core that is sent. */
  readonly sent: (message: Message) => void;
}

type Lane = 'control' | 'append' | 'data';

export class SimNetwork {
  private readonly nodes = new Map<NodeId, PeerHandlers>();
  private readonly cuts = new Set<string>();
  /** By node and name of the question. */
  readonly answers = new Map<string, (body: string) => Promise<string>>();
  private readonly lastAt = new Map<string, number>();
  /** Streams of a node end with its process: what it sent before never counts for the next one. */
  private readonly lives = new Map<NodeId, number>();
  delivered = 0;

  constructor(private readonly options: NetworkOptions) {}

  port(self: NodeId): PeerPort {
    const life = (this.lives.get(self) ?? 0) + 1;
    this.lives.set(self, life);
    return peerPort(this, self, this.options.sent);
  }

  isCut(from: NodeId, to: NodeId): boolean {
    return this.cuts.has(`${from}>${to}`);
  }

  cut(from: NodeId, to: NodeId): void {
    if (this.isCut(from, to)) return;
    this.cuts.add(`${from}>${to}`);
    this.notice(from, to, 'disconnected');
  }

  heal(): void {
    const cuts = [...this.cuts];
    this.cuts.clear();
    for (const cut of cuts) {
      const [from, to] = cut.split('>').map(Number) as [NodeId, NodeId];
      this.notice(from, to, 'connected');
    }
  }

  join(self: NodeId, handlers: PeerHandlers): void {
    this.nodes.set(self, handlers);
    for (const id of this.nodes.keys()) if (id !== self) this.notice(self, id, 'connected');
  }

  leave(self: NodeId): void {
    this.nodes.delete(self);
    for (const [id, other] of this.nodes) {
      const late = this.options.prng.below(20_000);
      this.options.time.after(late, () => this.current(id, other)?.disconnected(self), id);
    }
  }

  others(self: NodeId): NodeId[] {
    return [...this.nodes.keys()].filter((id) => id !== self).sort((a, b) => a - b);
  }

  /** False when there is no link; true does not mean that it arrives. */
  deliver(
    way: { from: NodeId; to: NodeId; lane: Lane; lossy: boolean },
    run: (handlers: PeerHandlers) => void,
  ): boolean {
    const { time, prng, weather } = this.options;
    const { from, to, lane, lossy } = way;
    const receiver = this.nodes.get(to);
    if (receiver === undefined || !this.nodes.has(from) || this.isCut(from, to)) return false;
    if (lossy && prng.chance(weather.drop)) return true;
    const sender = this.nodes.get(from);
    const copies = prng.chance(weather.duplicate) ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      const key = `${from}>${to}/${lane}`;
      const spread = weather.maxMicros - weather.minMicros;
      const wanted = time.nowMicros + weather.minMicros + prng.below(spread + 1);
      const at = Math.max(wanted, this.lastAt.get(key) ?? 0);
      this.lastAt.set(key, at);
      time.after(
        at - time.nowMicros,
        () => {
          if (this.isCut(from, to) || this.nodes.get(from) !== sender) return;
          this.delivered += 1;
          const now = this.current(to, receiver);
          if (now !== undefined) run(now);
        },
        to,
      );
    }
    return true;
  }

  ask<T>(from: NodeId, to: NodeId, run: (handlers: PeerHandlers) => T): T | null {
    const handlers = this.nodes.get(to);
    const cut = this.isCut(from, to) || this.isCut(to, from);
    return handlers === undefined || cut ? null : run(handlers);
  }

  /** Takes its time, and is lost with the link or either process, at any point. */
  async sendSnapshot(
    from: NodeId,
    to: NodeId,
    stream: SnapshotStream,
  ): Promise<SnapshotVerdict | 'failed'> {
    const { time, prng, weather } = this.options;
    const sender = this.nodes.get(from);
    const receiver = this.nodes.get(to);
    await time.sleep(prng.below(2_000_000));
    const isWhole = (): boolean =>
      !this.isCut(from, to) && this.nodes.get(from) === sender && this.nodes.get(to) === receiver;
    if (receiver === undefined || !isWhole() || prng.chance(weather.drop)) return 'failed';
    const verdict = await receiver.snapshot(stream.offer, stream.bytes());
    return isWhole() && !prng.chance(weather.drop) ? verdict : 'failed';
  }

  private current(id: NodeId, handlers: PeerHandlers): PeerHandlers | undefined {
    return this.nodes.get(id) === handlers ? handlers : undefined;
  }

  /** Both ends hear of it, each in its own time. */
  private notice(a: NodeId, b: NodeId, what: 'connected' | 'disconnected'): void {
    const { time, prng } = this.options;
    const slow = what === 'disconnected' ? 1_500_000 : 20_000;
    for (const [end, peer] of [
      [a, b],
      [b, a],
    ] as const) {
      const handlers = this.nodes.get(end);
      if (handlers === undefined) continue;
      const late = prng.below(slow);
      time.after(late, () => this.current(end, handlers)?.[what](peer), end);
    }
  }
}

function peerPort(network: SimNetwork, self: NodeId, sent: (message: Message) => void): PeerPort {
  const data = (to: NodeId) => ({ from: self, to, lane: 'data', lossy: false }) as const;
  const lossy = (to: NodeId, lane: Lane) => ({ from: self, to, lane, lossy: true }) as const;
  return {
    start: (handlers) => {
      network.join(self, handlers);
      return Promise.resolve();
    },
    send: (message) => {
      sent(message);
      const lane = message.kind.startsWith('append') ? 'append' : 'control';
      network.deliver(lossy(message.to, lane), (handlers) => handlers.message(message));
    },
    // The bytes are not copied: a sender that changes them afterwards is found out.
    forwardCommand: (to, bytes) =>
      network.deliver(data(to), (handlers) => {
        if (handlers.command(self, bytes.slice())) return;
        const back = { from: to, to: self, lane: 'data', lossy: false } as const;
        network.deliver(back, (own) => own.commandRefused(to));
      }),
    forwardPop: (to, pop) =>
      network.deliver(data(to), (handlers) => {
        handlers.pop(self, pop, (reply) => {
          const back = { from: to, to: self, lane: 'data', lossy: false } as const;
          network.deliver(back, (own) => own.popReply(to, pop.ticket, reply));
        });
      }),
    cancelPop: (to, ticket) => {
      network.deliver(data(to), (handlers) => handlers.popCancelled(self, ticket));
    },
    broadcastView: (view) => {
      for (const to of network.others(self)) {
        network.deliver(lossy(to, 'data'), (handlers) => handlers.leaderView(view));
      }
    },
    sendDigest: (to, report) => {
      network.deliver(lossy(to, 'data'), (handlers) => handlers.digest(self, report));
    },
    queryState: (to, query) =>
      Promise.resolve(network.ask(self, to, (handlers) => handlers.state(query))),
    probe: (node, query) =>
      Promise.resolve(network.ask(self, node.nodeId, (handlers) => handlers.state(query))),
    setMembers: () => undefined,
    kindsOf: () => null,
    ask: async (to, { name, body }) =>
      (await network.ask(self, to, () => network.answers.get(`${to} ${name}`)?.(body))) ?? null,
    answer: (name, answer) => {
      network.answers.set(`${self} ${name}`, answer);
    },
    sendSnapshot: (to, stream) => network.sendSnapshot(self, to, stream),
    stop: () => {
      network.leave(self);
      return Promise.resolve();
    },
  };
}
