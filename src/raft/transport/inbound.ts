/**
 * Frames of a peer on their way to the handlers. What a frame says about its sender must fit the
 * stream it came on: only the three requests that followers pass on may come from a third node. All
 * that does not decode throws DecodeError, and the stream ends.
 */
import { DecodeError } from '../../common/binary-reader.js';
import type { NodeId } from '../../common/ids.js';
import type { ForwardedPop, PeerHandlers, PopReply } from '../group/cluster/peer-port.js';
import type { Message } from '../core/index.js';
import { FrameKind, FrameWriter, bareFrame } from './frame.js';
import type { StreamKind } from './handshake.js';
import { readMessage } from './message-codec.js';
import type { PeerLink } from './peer-link.js';
import { readPop, readPopReply, readTicket, writePopReply } from './pop-codec.js';
import { readDigest, readView } from './report-codec.js';

const COMMAND_REFUSED = bareFrame(FrameKind.CommandRefused);

const PASSED_ON: readonly Message['kind'][] = ['propose', 'read-request', 'transfer-request'];

export class Inbound {
  private readonly writer = new FrameWriter();
  /** Peers that are told at the end of this turn that this node does not lead. */
  private readonly refusing = new Set<PeerLink>();

  constructor(
    private readonly self: NodeId,
    private readonly handlers: PeerHandlers,
    private readonly channel: (from: NodeId, body: Uint8Array) => void,
  ) {}

  frame(link: PeerLink, stream: StreamKind, code: number, body: Uint8Array): void {
    if (code === FrameKind.Message) return this.message(link, body);
    if (stream === 'control') throw new DecodeError(`frame ${code} on a control stream`, 0);
    const { handlers } = this;
    const from = link.address.nodeId;
    switch (code) {
      case FrameKind.Command:
        if (!handlers.command(from, body)) this.refuseCommand(link);
        return;
      case FrameKind.CommandRefused:
        return handlers.commandRefused(from);
      case FrameKind.Pop:
        return this.pop(link, readPop(body));
      case FrameKind.PopCancel: {
        const ticket = readTicket(body);
        if (!link.forgetHeld(ticket)) handlers.popCancelled(from, ticket);
        return;
      }
      case FrameKind.PopReply: {
        const { ticket, reply } = readPopReply(body);
        return handlers.popReply(from, ticket, reply);
      }
      case FrameKind.View:
        return handlers.leaderView(readView(body));
      case FrameKind.Channel:
        return this.channel(from, body);
      case FrameKind.Digest:
        return handlers.digest(from, readDigest(body));
      default:
        throw new DecodeError(`unknown frame ${code}`, 0);
    }
  }

  up(link: PeerLink): void {
    this.handlers.connected(link.address.nodeId);
    for (const pop of link.takeHeld()) this.pop(link, pop);
  }

  private message(link: PeerLink, body: Uint8Array): void {
    const message = readMessage(body);
    const isOwn = message.from === link.address.nodeId || PASSED_ON.includes(message.kind);
    if (!isOwn || message.to !== this.self) throw new DecodeError('message of another pair', 2);
    this.handlers.message(message);
  }

  private pop(link: PeerLink, pop: ForwardedPop): void {
    if (!link.isUp) return link.hold(pop);
    const { epoch } = link;
    let answered = false;
    this.handlers.pop(link.address.nodeId, pop, (reply: PopReply) => {
      if (answered || link.epoch !== epoch) return;
      answered = true;
      writePopReply(this.writer.begin(FrameKind.PopReply), pop.ticket, reply);
      link.send('data', 'answer', this.writer.finish());
    });
  }

  /** One frame for all commands of this turn. */
  private refuseCommand(link: PeerLink): void {
    if (this.refusing.size === 0) queueMicrotask(() => this.sendRefusals());
    this.refusing.add(link);
  }

  private sendRefusals(): void {
    for (const link of this.refusing) link.send('data', 'answer', COMMAND_REFUSED);
    this.refusing.clear();
  }
}
