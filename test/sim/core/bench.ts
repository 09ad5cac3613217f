/**
 * One core on a bench: a disk, a driver that stores and applies at once, and everything it sent kept
 * for inspection. For directed tests that put a node into an exact state and poke it.
 */
import { logIndex, nodeId, term, type NodeId } from '../../../src/common/ids.js';
import { RaftCore } from '../../../src/raft/core/core.js';
import { decodeConfigChange } from '../../../src/raft/core/membership-codec.js';
import type { Message, MessageKind } from '../../../src/raft/core/messages.js';
import type { CoreOptions } from '../../../src/raft/core/options.js';
import type { CoreState } from '../../../src/raft/core/state.js';
import type { TraceEvent } from '../../../src/raft/core/trace.js';
import type {
  ConfigChange,
  ConfigState,
  Entry,
  ReadState,
  Ready,
} from '../../../src/raft/core/types.js';
import { MemoryLog } from './memory-log.js';

export interface BenchSetup extends Partial<Omit<CoreOptions, 'id' | 'log'>> {
  readonly id?: number;
  readonly voters?: readonly number[];
  readonly outgoing?: readonly number[];
  readonly learners?: readonly number[];
  readonly autoLeave?: boolean;
  /** Terms of the entries on disk, from index 1. */
  readonly terms?: readonly number[];
  readonly hard?: { readonly term: number; readonly vote?: number; readonly commit?: number };
}

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

export function entry(entryTerm: number, index: number, text = `e${index}`): Entry {
  return { term: term(entryTerm), index: logIndex(index), kind: 'normal', data: bytes(text) };
}

export function entriesOf(terms: readonly number[], first = 1): Entry[] {
  return terms.map((entryTerm, i) => entry(entryTerm, first + i));
}

export function configOf(setup: {
  readonly voters?: readonly number[];
  readonly outgoing?: readonly number[];
  readonly learners?: readonly number[];
  readonly autoLeave?: boolean;
}): ConfigState {
  const ids = (list: readonly number[] | undefined): NodeId[] => (list ?? []).map(nodeId);
  return {
    voters: ids(setup.voters),
    outgoing: ids(setup.outgoing),
    learners: ids(setup.learners),
    learnersNext: [],
    autoLeave: setup.autoLeave ?? false,
  };
}

export class Bench {
  readonly id: NodeId;
  readonly disk = new MemoryLog();
  readonly core: RaftCore;
  readonly applied: Entry[] = [];
  readonly reads: ReadState[] = [];
  readonly events: TraceEvent[] = [];
  private outbox: Message[] = [];

  constructor(setup: BenchSetup = {}) {
    const { id = 1, terms = [], hard, voters = [1, 2, 3], outgoing, learners, autoLeave } = setup;
    const given = { voters, outgoing, learners, autoLeave };
    this.id = nodeId(id);
    this.disk.config = configOf(given as Parameters<typeof configOf>[0]);
    this.disk.append(entriesOf(terms));
    const last = terms[terms.length - 1] ?? 0;
    this.disk.hardState = {
      term: term(hard?.term ?? last),
      vote: nodeId(hard?.vote ?? 0),
      commit: logIndex(hard?.commit ?? 0),
    };
    const {
      id: _i,
      voters: _v,
      outgoing: _o,
      learners: _l,
      autoLeave: _a,
      terms: _t,
      ...rest
    } = setup;
    const { hard: _h, ...options } = rest;
    this.core = new RaftCore({
      random: () => 0,
      electionTicks: 10,
      heartbeatTicks: 1,
      preVote: false,
      checkQuorum: false,
      asyncStorage: false,
      trace: (event) => void this.events.push(event),
      ...options,
      id: this.id,
      log: this.disk,
    });
  }

  get state(): CoreState {
    return (this.core as unknown as { state: CoreState }).state;
  }

  /** Handles Readys until there are none; returns what was sent to others since the last call. */
  flush(): Message[] {
    while (this.core.hasReady()) this.finish(this.core.takeReady());
    return this.sent();
  }

  finish(ready: Ready): void {
    this.store(ready);
    this.reads.push(...ready.readStates);
    this.outbox.push(...ready.messages, ...ready.messagesAfterPersist);
    this.apply(ready.committed);
    if (ready.persist !== undefined) this.core.onPersisted(ready.persist);
    const last = ready.committed[ready.committed.length - 1];
    if (last !== undefined) this.core.onApplied(last.index);
  }

  store(ready: Ready): void {
    if (ready.snapshot !== undefined) this.disk.installSnapshot(ready.snapshot);
    if (ready.hardState !== undefined) this.disk.setHardState(ready.hardState);
    this.disk.append(ready.entries);
  }

  apply(entries: readonly Entry[]): void {
    for (const one of entries) {
      this.applied.push(one);
      if (one.kind !== 'membership') continue;
      const change = decodeConfigChange(one.data);
      if (change === 'malformed') throw new Error('malformed change');
      this.disk.config = this.core.applyConfigChange(change, one.index);
    }
  }

  sent(): Message[] {
    const messages = this.outbox;
    this.outbox = [];
    return messages;
  }

  /** Makes this node leader with the votes of the given peers. */
  lead(...supporters: number[]): this {
    this.core.campaign();
    this.flush();
    for (const from of supporters) {
      this.core.step(vote(this, { from, granted: true }));
    }
    if (this.state.role !== 'leader') throw new Error('not elected');
    this.flush();
    return this;
  }

  /** The peer acknowledges everything this leader has. */
  ackAll(from: number, index: number = this.state.log.lastIndex()): Message[] {
    this.core.step(appendAck(this, { from, index }));
    return this.flush();
  }

  ticks(count: number): this {
    for (let i = 0; i < count; i += 1) this.core.tick();
    return this;
  }

  terms(): number[] {
    const { log } = this.state;
    const result: number[] = [];
    for (let i = log.firstIndex() as number; i <= log.lastIndex(); i += 1) {
      result.push(log.termOrZero(logIndex(i)));
    }
    return result;
  }
}

export function ofKind<K extends MessageKind>(
  messages: readonly Message[],
  kind: K,
): Extract<Message, { kind: K }>[] {
  return messages.filter((m): m is Extract<Message, { kind: K }> => m.kind === kind);
}

export function only<T>(items: readonly T[]): T {
  const [first] = items;
  if (first === undefined || items.length !== 1) throw new Error(`${items.length} items, not one`);
  return first;
}

interface From {
  readonly from: number;
  /** Defaults to the receiver's term. */
  readonly at?: number;
}

function envelope(to: Bench, { from, at }: From) {
  return { from: nodeId(from), to: to.id, term: term(at ?? to.state.term) };
}

export function vote(
  to: Bench,
  facts: From & { granted: boolean; preVote?: boolean; commit?: [number, number] },
): Message {
  return {
    kind: 'vote-response',
    ...envelope(to, facts),
    preVote: facts.preVote ?? false,
    granted: facts.granted,
    commitIndex: logIndex(facts.commit?.[0] ?? 0),
    commitTerm: term(facts.commit?.[1] ?? 0),
  };
}

export function voteRequest(
  to: Bench,
  facts: From & {
    last: [index: number, term: number];
    preVote?: boolean;
    transfer?: boolean;
    commit?: [number, number];
  },
): Message {
  return {
    kind: 'vote-request',
    ...envelope(to, facts),
    preVote: facts.preVote ?? false,
    transfer: facts.transfer ?? false,
    lastIndex: logIndex(facts.last[0]),
    lastTerm: term(facts.last[1]),
    commitIndex: logIndex(facts.commit?.[0] ?? 0),
    commitTerm: term(facts.commit?.[1] ?? 0),
  };
}

export function append(
  to: Bench,
  facts: From & { prev: [index: number, term: number]; terms?: number[]; commit?: number },
): Message {
  return {
    kind: 'append-request',
    ...envelope(to, facts),
    prevIndex: logIndex(facts.prev[0]),
    prevTerm: term(facts.prev[1]),
    entries: entriesOf(facts.terms ?? [], facts.prev[0] + 1),
    commit: logIndex(facts.commit ?? 0),
  };
}

export function appendAck(to: Bench, facts: From & { index: number }): Message {
  return {
    kind: 'append-response',
    ...envelope(to, facts),
    index: logIndex(facts.index),
    rejected: false,
    hintIndex: logIndex(0),
    hintTerm: term(0),
  };
}

export function appendReject(
  to: Bench,
  facts: From & { index: number; hint: [index: number, term: number] },
): Message {
  return {
    kind: 'append-response',
    ...envelope(to, facts),
    index: logIndex(facts.index),
    rejected: true,
    hintIndex: logIndex(facts.hint[0]),
    hintTerm: term(facts.hint[1]),
  };
}

export function heartbeat(
  to: Bench,
  facts: From & { commit?: number; readRound?: number },
): Message {
  return {
    kind: 'heartbeat',
    ...envelope(to, facts),
    commit: logIndex(facts.commit ?? 0),
    readRound: facts.readRound ?? 0,
  };
}

export function heartbeatAck(to: Bench, facts: From & { readRound?: number }): Message {
  return {
    kind: 'heartbeat-response',
    ...envelope(to, facts),
    readRound: facts.readRound ?? 0,
  };
}

export function snapshot(
  to: Bench,
  facts: From & { point: [index: number, term: number]; config: ConfigState },
): Message {
  return {
    kind: 'snapshot',
    ...envelope(to, facts),
    snapshot: {
      index: logIndex(facts.point[0]),
      term: term(facts.point[1]),
      config: facts.config,
    },
  };
}

export function timeoutNow(to: Bench, facts: From): Message {
  return { kind: 'timeout-now', ...envelope(to, facts) };
}

export function change(
  text: string,
  transition: ConfigChange['transition'] = 'auto',
): ConfigChange {
  const actions = { v: 'add-voter', l: 'add-learner', r: 'remove', u: 'update' } as const;
  return {
    transition,
    changes: text
      .split(' ')
      .filter((word) => word !== '')
      .map((word) => ({
        action: actions[word.charAt(0) as keyof typeof actions],
        node: nodeId(Number(word.slice(1))),
      })),
  };
}
