/**
 * The leader's end of forwarded pops: each waits at the dispatcher until it is answered, cancelled, or
 * its node's stream breaks. Only nodes that were heard recently and are not far behind may wait: others
 * could not deliver what they are granted, so they are told to ask again. An empty answer leaves only
 * while a quorum was heard recently.
 */
import type { NodeId } from '../../../common/ids.js';
import type { PopTicket } from '../../../machine/commands/catalogue.js';
import type { DispatchAnswer, DispatcherPort } from '../ports.js';
import type { ForwardedPop, PopReply } from './peer-port.js';

/** Forwarded pops waiting here; one more is answered `overloaded`. */
export const MAX_SERVED_POPS = 1_000_000;

export interface PopServerPort {
  readonly nowMs: () => number;
  /** Null while this node does not lead. */
  dispatcher(): DispatcherPort | null;
  /** A quorum acknowledged recently enough to say "empty". */
  isQuorumFresh(): boolean;
  /** The node can deliver a grant: heard recently, not far behind. */
  mayGrant(node: NodeId): boolean;
  /** Resolves when all that is committed now is applied here; undefined when it is. */
  caughtUp(): Promise<void> | undefined;
}

const REFUSED: PopReply = { kind: 'refused', code: 'retry' };
const OVERLOADED: PopReply = { kind: 'refused', code: 'overloaded' };

interface Served {
  readonly controller: AbortController;
  readonly reply: (reply: PopReply) => void;
}

export class PopServer {
  private readonly waiting = new Map<NodeId, Map<string, Served>>();
  private size = 0;

  constructor(private readonly port: PopServerPort) {}

  get waitingPops(): number {
    return this.size;
  }

  serve(from: NodeId, pop: ForwardedPop, reply: (reply: PopReply) => void): void {
    const dispatcher = this.port.dispatcher();
    if (dispatcher === null || !this.port.mayGrant(from)) {
      reply(REFUSED);
      return;
    }
    const key = keyOf(pop.ticket);
    this.drop(from, key);
    if (this.size >= MAX_SERVED_POPS) {
      reply(OVERLOADED);
      return;
    }
    const served: Served = { controller: new AbortController(), reply };
    this.ofNode(from).set(key, served);
    this.size += 1;
    const deadlineMs = this.port.nowMs() + pop.remainingMs;
    const { signal } = served.controller;
    const finish = (answer: PopReply): void => {
      if (this.waiting.get(from)?.get(key) !== served) return;
      this.forget(from, key);
      reply(answer);
    };
    const ask = (): Promise<DispatchAnswer> =>
      dispatcher.pop(pop.request, pop.ticket, { deadlineMs, signal });
    // What its node had applied when it asked must count here as well.
    const behind = this.port.caughtUp();
    (behind === undefined ? ask() : behind.then(ask)).then(
      (answer) => {
        const trusted = answer.granted || this.port.isQuorumFresh();
        finish(trusted ? { kind: 'answer', answer } : REFUSED);
      },
      () => finish(REFUSED),
    );
  }

  cancel(from: NodeId, ticket: PopTicket): void {
    this.drop(from, keyOf(ticket));
  }

  /** The stream of a node broke: it will ask again. */
  dropNode(from: NodeId): void {
    for (const key of [...(this.waiting.get(from)?.keys() ?? [])]) this.drop(from, key);
  }

  /** Called a few times a second: sends away the pops of nodes that could not deliver. */
  tick(): void {
    for (const [node, ofNode] of this.waiting) {
      if (ofNode.size === 0 || this.port.mayGrant(node)) continue;
      for (const [key, { reply }] of [...ofNode]) {
        this.drop(node, key);
        reply(REFUSED);
      }
    }
  }

  private drop(from: NodeId, key: string): void {
    const served = this.waiting.get(from)?.get(key);
    if (served === undefined) return;
    this.forget(from, key);
    served.controller.abort();
  }

  private forget(from: NodeId, key: string): void {
    const ofNode = this.waiting.get(from);
    if (ofNode?.delete(key) !== true) return;
    this.size -= 1;
    if (ofNode.size === 0) this.waiting.delete(from);
  }

  private ofNode(from: NodeId): Map<string, Served> {
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
