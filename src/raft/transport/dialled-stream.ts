/**
 * One stream this node dials to a peer and sends on. It dials until it is stopped, with a jittered
 * pause that doubles from 50 ms to 2 s; a nudge (the peer dialled us, so it lives) dials at once. All
 * that comes back is "alive". What is queued dies with the connection.
 */
import type { Socket } from 'node:net';
import { DecodeError } from '../../common/binary-reader.js';
import { dialStream, type Dial, type DialOutcome } from './dial.js';
import { bareFrame, FrameKind, type Frame } from './frame.js';
import { FrameReader } from './frame-reader.js';
import { TOKEN_REFUSED, type PeerIdentity, type StreamKind } from './handshake.js';
import { helloFrame } from './hello.js';
import { Liveness } from './liveness.js';
import type { PeerAddress, TransportContext, TransportLimits } from './options.js';
import { Outbox, type Lane, type LaneLimits } from './outbox.js';

const ALIVE = bareFrame(FrameKind.Alive);
/** What the acceptor may send back in one frame. */
const MAX_BACK_FRAME_BYTES = 64;
/**
 * A connection that broke sooner counts as a failed attempt: two builds that do not understand each
 * other must not dial without a pause.
 */
const PROVEN_MS = 1000;
/** Shortest time between two attempts when the peer has dialled us. */
const NUDGED_PAUSE_MS = 150;

export interface DialledHooks {
  opened(peer: PeerIdentity): void;
  closed(): void;
}

interface Connection {
  readonly peer: PeerIdentity;
  readonly socket: Socket;
  readonly outbox: Outbox;
  readonly liveness: Liveness;
  readonly openedMs: number;
}

export class DialledStream {
  private connection: Connection | undefined;
  private dial: Dial | undefined;
  private retry: NodeJS.Timeout | undefined;
  private failures = 0;
  private attemptedMs = 0;
  private stopped = true;
  private readonly laneLimits: LaneLimits;

  constructor(
    private readonly address: PeerAddress,
    private readonly kind: StreamKind,
    private readonly context: TransportContext,
    private readonly hooks: DialledHooks,
  ) {
    this.laneLimits = laneLimits(kind, context.limits);
  }

  get isOpen(): boolean {
    return this.connection !== undefined;
  }

  queuedBytes(lane: Lane): number {
    return this.connection?.outbox.queuedBytes(lane) ?? 0;
  }

  /** Worth building a frame: it may still be refused for its size. */
  hasRoom(lane: Lane): boolean {
    return this.connection !== undefined && this.queuedBytes(lane) < this.laneLimits[lane];
  }

  start(): void {
    this.stopped = false;
    this.attempt();
  }

  stop(): void {
    this.stopped = true;
    this.dial?.cancel();
    this.dial = undefined;
    clearTimeout(this.retry);
    this.retry = undefined;
    this.drop('stopped');
  }

  /** Ends the present connection, if any; dialling goes on. */
  drop(reason: string): void {
    const connection = this.connection;
    if (connection === undefined) return;
    this.connection = undefined;
    connection.liveness.stop();
    connection.outbox.close();
    connection.socket.destroy();
    const { nodeId: peer } = this.address;
    if (!this.stopped) this.context.warnings.warn('raft: stream to a peer lost', peer, { reason });
    this.hooks.closed();
    if (performance.now() - connection.openedMs > PROVEN_MS) this.failures = 0;
    this.attemptLater();
  }

  /** Ends a connection to an earlier start of the peer. */
  dropUnless(bootId: string): void {
    const connection = this.connection;
    if (connection !== undefined && connection.peer.bootId !== bootId) this.drop('peer restarted');
  }

  /** The peer lives: the pause ends now or very soon. */
  nudge(): void {
    if (this.retry === undefined || this.stopped) return;
    const pauseMs = this.attemptedMs + NUDGED_PAUSE_MS - performance.now();
    this.attemptIn(Math.max(0, pauseMs));
  }

  send(frame: Frame, lane: Lane): boolean {
    return this.connection?.outbox.push(frame, lane) ?? false;
  }

  private attempt(): void {
    this.retry = undefined;
    this.attemptedMs = performance.now();
    this.dial = dialStream(this.address, this.kind, this.context, (outcome) => {
      this.dial = undefined;
      if (outcome.kind === 'open') return this.open(outcome);
      if (outcome.kind === 'refused') this.logRefusal(outcome.status, outcome.reason);
      this.attemptLater();
    });
  }

  private attemptLater(): void {
    if (this.stopped) return;
    const { backoffMinMs, backoffMaxMs } = this.context.limits;
    const pauseMs = Math.min(backoffMaxMs, backoffMinMs * 2 ** Math.min(this.failures, 16));
    this.failures += 1;
    this.attemptIn(pauseMs * (0.5 + Math.random() / 2));
  }

  private attemptIn(pauseMs: number): void {
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.attempt(), pauseMs);
  }

  private open({ socket, head, peer }: Extract<DialOutcome, { kind: 'open' }>): void {
    socket.setNoDelay(true);
    socket.setTimeout(0);
    const outbox = new Outbox(socket, this.laneLimits);
    const { limits } = this.context;
    const liveness = new Liveness(limits, {
      sayAlive: (nowMs) => {
        if (!outbox.isIdle || nowMs - outbox.lastWriteMs < limits.aliveEveryMs * 0.9) return;
        outbox.push(ALIVE, 'answer');
      },
      silent: () => this.drop('silent'),
    });
    this.connection = { peer, socket, outbox, liveness, openedMs: performance.now() };
    outbox.push(helloFrame(this.context.self, this.kind), 'answer');
    this.listen(socket, head);
    this.hooks.opened(peer);
  }

  /** Events of a connection given up already are ignored. */
  private listen(socket: Socket, head: Uint8Array): void {
    const lost = (reason: string): void => {
      if (this.connection?.socket === socket) this.drop(reason);
    };
    const reader = new FrameReader(MAX_BACK_FRAME_BYTES, (kind) => {
      if (kind !== FrameKind.Alive) lost('unexpected frame');
    });
    const receive = (chunk: Uint8Array): void => {
      if (this.connection?.socket !== socket) return;
      this.connection.liveness.heard();
      try {
        reader.push(chunk);
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
        lost(error.message);
      }
    };
    socket.on('data', receive);
    socket.on('end', () => lost('closed by the peer'));
    socket.on('error', (error) => lost(error.message));
    socket.on('close', () => lost('closed'));
    if (head.length > 0) receive(head);
  }

  private logRefusal(status: number, reason: string): void {
    const event = status === 401 ? TOKEN_REFUSED : 'raft: a peer refused a stream';
    this.context.warnings.warn(event, this.address.nodeId, { status, reason });
  }
}

function laneLimits(kind: StreamKind, limits: TransportLimits): LaneLimits {
  const { controlQueueBytes: control } = limits;
  if (kind === 'control') return { append: control, command: control, answer: control };
  return {
    append: limits.appendQueueBytes,
    command: limits.commandQueueBytes,
    answer: limits.answerQueueBytes,
  };
}
