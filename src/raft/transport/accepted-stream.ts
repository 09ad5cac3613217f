/**
 * One stream a peer dialled to this node: frames come in, "alive" goes out. The first frame must be
 * the hello. Bytes that do not decode, an oversized frame or silence end the stream without effect.
 */
import type { Socket } from 'node:net';
import { DecodeError } from '../../common/binary-reader.js';
import { bareFrame, FrameKind } from './frame.js';
import { FrameReader } from './frame-reader.js';
import type { PeerIdentity, StreamKind } from './handshake.js';
import { checkHello } from './hello.js';
import { Liveness } from './liveness.js';
import type { TransportContext } from './options.js';

const ALIVE = Buffer.concat([...bareFrame(FrameKind.Alive).parts]);
/** "Alive" bytes a peer may leave unread before no more are queued. */
const MAX_UNREAD_BYTES = 4096;

export interface AcceptedHooks {
  /** The hello is there: the peer got the answer to its handshake, so both directions work. */
  greeted(): void;
  /** Throws DecodeError for bytes that are not what they claim; nothing else is caught. */
  frame(kind: number, body: Uint8Array): void;
  closed(): void;
}

export class AcceptedStream {
  private readonly reader: FrameReader;
  private readonly liveness: Liveness;
  private greeted = false;
  private closed = false;

  constructor(
    private readonly socket: Socket,
    readonly peer: PeerIdentity,
    readonly kind: StreamKind,
    private readonly use: { readonly context: TransportContext; readonly hooks: AcceptedHooks },
  ) {
    const { limits } = use.context;
    this.reader = new FrameReader(limits.maxFrameBytes, (code, body) => this.take(code, body));
    this.liveness = new Liveness(limits, {
      sayAlive: () => {
        if (socket.writableLength < MAX_UNREAD_BYTES) socket.write(ALIVE);
      },
      silent: () => this.close('silent'),
    });
  }

  get isGreeted(): boolean {
    return this.greeted;
  }

  /** `head` is what came in the same packet as the handshake. */
  open(head: Uint8Array): void {
    const { socket } = this;
    socket.setNoDelay(true);
    socket.setTimeout(0);
    socket.on('data', (chunk) => this.receive(chunk));
    socket.on('end', () => this.close('closed by the peer'));
    socket.on('error', (error) => this.close(error.message));
    socket.on('close', () => this.close('closed'));
    if (head.length > 0) this.receive(head);
  }

  close(reason: string): void {
    if (this.closed) return;
    this.closed = true;
    this.reader.close();
    this.liveness.stop();
    this.socket.destroy();
    const { warnings } = this.use.context;
    if (reason !== 'stopped') {
      warnings.warn('raft: stream of a peer lost', this.peer.nodeId, { stream: this.kind, reason });
    }
    this.use.hooks.closed();
  }

  private receive(chunk: Uint8Array): void {
    if (this.closed) return;
    this.liveness.heard();
    try {
      this.reader.push(chunk);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      this.close(error.message);
    }
  }

  private take(code: number, body: Uint8Array): void {
    if (code === FrameKind.Alive) return;
    if (code !== FrameKind.Hello) {
      if (!this.greeted) throw new DecodeError('a frame before the hello', 0);
      return this.use.hooks.frame(code, body);
    }
    if (this.greeted) throw new DecodeError('a second hello', 0);
    checkHello(body, this.peer.nodeId, this.kind);
    this.greeted = true;
    this.use.hooks.greeted();
  }
}
