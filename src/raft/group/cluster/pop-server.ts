/**
 * The leader's end of forwarded pops: each waits at the dispatcher until it is answered, cancelled, or
 * its node's stream breaks. An empty answer leaves only while a quorum was heard recently; otherwise
 * the asking node is told to ask again.
 */
import type { NodeId } from '../../../common/ids.js';
import type { PopTicket } from '../../../machine/commands/catalogue.js';
import type { DispatcherPort } from '../ports.js';
import type { ForwardedPop, PopReply } from './peer-port.js';

export interface PopServerPort {
  readonly nowMs: () => number;
  /** Null while this node does not lead. */
  dispatcher(): DispatcherPort | null;
  /** A quorum acknowledged recently enough to say "empty". */
  isQuorumFresh(): boolean;
}

const REFUSED: PopReply = { kind: 'refused', code: 'retry' };

export class PopServer {
  private readonly waiting = new Map<NodeId, Map<string, AbortController>>();

  constructor(private readonly port: PopServerPort) {}

  serve(from: NodeId, pop: ForwardedPop, reply: (reply: PopReply) => void): void {
    const dispatcher = this.port.dispatcher();
    if (dispatcher === null) {
      reply(REFUSED);
      return;
    }
    const key = keyOf(pop.ticket);
    const controller = new AbortController();
    const ofNode = this.ofNode(from);
    ofNode.get(key)?.abort();
    ofNode.set(key, controller);
    const deadlineMs = this.port.nowMs() + pop.remainingMs;
    const { signal } = controller;
    const finish = (answer: PopReply): void => {
      if (ofNode.get(key) === controller) ofNode.delete(key);
      if (!signal.aborted) reply(answer);
    };
    dispatcher.pop(pop.request, pop.ticket, { deadlineMs, signal }).then(
      (answer) => {
        const trusted = answer.granted || this.port.isQuorumFresh();
        finish(trusted ? { kind: 'answer', answer } : REFUSED);
      },
      () => finish(REFUSED),
    );
  }

  cancel(from: NodeId, ticket: PopTicket): void {
    this.waiting.get(from)?.get(keyOf(ticket))?.abort();
  }

  /** The stream of a node broke: it will ask again. */
  dropNode(from: NodeId): void {
    const ofNode = this.waiting.get(from);
    this.waiting.delete(from);
    for (const controller of ofNode?.values() ?? []) controller.abort();
  }

  private ofNode(from: NodeId): Map<string, AbortController> {
    let ofNode = this.waiting.get(from);
    if (ofNode === undefined) {
      ofNode = new Map();
      this.waiting.set(from, ofNode);
    }
    return ofNode;
  }
}

function keyOf(ticket: PopTicket): string {
  return `${ticket.session}/${ticket.sequence}`;
}
