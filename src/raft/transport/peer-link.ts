/**
 * Everything between this node and one peer: two streams dialled, two accepted. The peer is up while
 * all four stand, so both sides agree on what was lost: a break of any of them is one `down`, and
 * `up` follows only when both directions work again: an accepted stream stands from its hello on, which
 * the peer sends once it has our answer. Pops that arrive before `up` wait for it, since
 * `down` is what ends the pops of a peer.
 */
import type { Socket } from 'node:net';
import type { ForwardedPop } from '../group/cluster/peer-port.js';
import { AcceptedStream } from './accepted-stream.js';
import { DialledStream } from './dialled-stream.js';
import type { Frame } from './frame.js';
import { STREAM_KINDS, type PeerIdentity, type StreamKind } from './handshake.js';
import type { PeerAddress, TransportContext } from './options.js';
import type { Lane } from './outbox.js';
import type { PopTicket } from './pop-codec.js';

export interface LinkHooks {
  frame(link: PeerLink, from: StreamKind, code: number, body: Uint8Array): void;
  up(link: PeerLink): void;
  down(link: PeerLink): void;
}

/** A stream a peer asks for, its handshake done. */
export interface Arrival {
  readonly kind: StreamKind;
  readonly peer: PeerIdentity;
  readonly socket: Socket;
  readonly head: Uint8Array;
}

export class PeerLink {
  private readonly dialled: Readonly<Record<StreamKind, DialledStream>>;
  private readonly accepted = new Map<StreamKind, AcceptedStream>();
  private readonly held = new Map<string, ForwardedPop>();
  private bootId = '';
  /** Highest cluster version the peer's build reads, 0 when not told. */
  kinds = 0;
  private stopped = false;
  private up = false;
  /** Counts the times the peer went down; an answer to something older has no receiver. */
  epoch = 0;

  constructor(
    readonly address: PeerAddress,
    private readonly context: TransportContext,
    private readonly hooks: LinkHooks,
  ) {
    const dial = (kind: StreamKind): DialledStream =>
      new DialledStream(address, kind, context, {
        opened: (peer) => {
          this.meet(peer, null);
          this.update();
        },
        closed: () => this.update(),
      });
    this.dialled = { control: dial('control'), data: dial('data') };
  }

  get isUp(): boolean {
    return this.up;
  }

  start(): void {
    for (const kind of STREAM_KINDS) this.dialled[kind].start();
  }

  /** Ends all streams; tells `down` when the peer was up. */
  stop(): void {
    this.stopped = true;
    for (const kind of STREAM_KINDS) this.dialled[kind].stop();
    for (const stream of [...this.accepted.values()]) stream.close('stopped');
    this.update();
  }

  accept({ kind, peer, socket, head }: Arrival): void {
    this.meet(peer, kind);
    this.accepted.get(kind)?.close('dialled again');
    const stream: AcceptedStream = new AcceptedStream(socket, peer, kind, {
      context: this.context,
      hooks: {
        greeted: () => this.update(),
        frame: (code, body) => this.hooks.frame(this, kind, code, body),
        closed: () => {
          if (this.accepted.get(kind) === stream) this.accepted.delete(kind);
          if (kind === 'data') this.held.clear();
          this.update();
        },
      },
    });
    this.accepted.set(kind, stream);
    for (const other of STREAM_KINDS) this.dialled[other].nudge();
    this.update();
    stream.open(head);
  }

  hasRoom(kind: StreamKind, lane: Lane): boolean {
    return this.dialled[kind].hasRoom(lane);
  }

  queuedBytes(kind: StreamKind, lane: Lane): number {
    return this.dialled[kind].queuedBytes(lane);
  }

  send(kind: StreamKind, lane: Lane, frame: Frame): boolean {
    const { maxFrameBytes } = this.context.limits;
    if (frame.sizeBytes <= maxFrameBytes) return this.dialled[kind].send(frame, lane);
    const fields = { bytes: frame.sizeBytes, most: maxFrameBytes };
    this.context.warnings.warn('raft: frame too large to send', this.address.nodeId, fields);
    return false;
  }

  /** Keeps a pop until `takeHeld`; beyond the bound it is forgotten and its asker runs into time. */
  hold(pop: ForwardedPop): void {
    if (this.held.size < this.context.limits.heldPops) this.held.set(keyOf(pop.ticket), pop);
  }

  /** True when the pop had not been delivered yet. */
  forgetHeld(ticket: PopTicket): boolean {
    return this.held.delete(keyOf(ticket));
  }

  takeHeld(): readonly ForwardedPop[] {
    const pops = [...this.held.values()];
    this.held.clear();
    return pops;
  }

  /** Streams of an earlier start of the peer are dead, whether or not their sockets know. */
  private meet(peer: PeerIdentity, arriving: StreamKind | null): void {
    const isNew = this.bootId !== '' && this.bootId !== peer.bootId;
    this.bootId = peer.bootId;
    this.kinds = peer.kinds;
    if (!isNew) return;
    for (const [kind, stream] of [...this.accepted]) {
      if (kind !== arriving && stream.peer.bootId !== peer.bootId) stream.close('peer restarted');
    }
    for (const kind of STREAM_KINDS) this.dialled[kind].dropUnless(peer.bootId);
  }

  private update(): void {
    const isUp =
      !this.stopped &&
      STREAM_KINDS.every(
        (kind) => this.dialled[kind].isOpen && this.accepted.get(kind)?.isGreeted === true,
      );
    if (isUp === this.up) return;
    this.up = isUp;
    if (isUp) return this.hooks.up(this);
    this.epoch += 1;
    this.held.clear();
    this.hooks.down(this);
  }
}

const keyOf = ({ session, sequence }: PopTicket): string => `${session}:${sequence}`;
