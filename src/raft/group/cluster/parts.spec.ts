/** The parts of the cluster driver, each against the rule it is there for (raft-core.md, D1–D7 and §9). */
import { logIndex, nodeId, term, type NodeId } from '../../../common/ids.js';
import { StageFigures } from '../../../common/stage-figures.js';
import { COMMAND_HEADER, CommandKind } from '../../../machine/commands/catalogue.js';
import { commandU48 } from '../../../machine/commands/header.js';

import { claimCommand, pushCommand } from '../../../../test/support/group-commands.js';
import { EMPTY_CONFIG, type Entry, type Message } from '../../core/index.js';
import type { CoreStatus, LogReader } from '../../core/index.js';
import { createMachineParts } from '../../machine-parts.js';
import type { Call } from '../call.js';
import { CommandFlow } from '../command-flow.js';
import { DeadlineWheel } from '../deadline-wheel.js';
import { Intake } from '../intake.js';
import type { DispatchAnswer, DispatcherPort } from '../ports.js';
import { AppliedWaiters } from './applied-waiters.js';
import { DivergenceWatch } from './divergence-watch.js';
import { DurableLog } from './durable-log.js';
import { peerHandlers, type PeerDeskParts } from './peer-desk.js';
import type { ForwardedPop, PopReply } from './peer-port.js';
import { PopServer } from './pop-server.js';
import { QuorumWatch } from './quorum-watch.js';
import { RaftLoop } from './raft-loop.js';
import { ReadRounds } from './read-rounds.js';
import { SessionOpener } from './session-opener.js';

const VOTERS = [1, 2, 3].map(nodeId);
const A = nodeId(1);
const B = nodeId(2);
const C = nodeId(3);

function entry(index: number, ofTerm: number, text = 'x'): Entry {
  const data = Buffer.from(text);
  return { index: logIndex(index), term: term(ofTerm), kind: 'normal', data };
}

async function settle(): Promise<void> {
  for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('raft loop', () => {
  function loopOf(): {
    loop: RaftLoop;
    commits: number[];
    sent: Message[];
    committed: Entry[];
    finish: (() => void)[];
    failures: unknown[];
  } {
    const sent: Message[] = [];
    const committed: Entry[] = [];
    const commits: number[] = [];
    const finish: (() => void)[] = [];
    const failures: unknown[] = [];
    const log: LogReader = {
      initialState: () => ({
        hardState: { term: term(0), vote: nodeId(0), commit: logIndex(0) },
        config: { ...EMPTY_CONFIG, voters: VOTERS },
      }),
      firstIndex: () => logIndex(1),
      lastIndex: () => logIndex(0),
      termOf: (index) => (index === 0 ? term(0) : 'unavailable'),
      entries: () => [],
      snapshotFor: () => 'preparing',
    };
    const options = { id: A, log, random: () => 0, electionTicks: 10, heartbeatTicks: 1 };
    const loop = new RaftLoop(
      { ...options, preVote: false },
      {
        append: () => new Promise((resolve) => finish.push(resolve)),
        commitMoved: (commit) => commits.push(commit),
        send: (message) => sent.push(message),
        committed: (entries) => committed.push(...entries),
        softState: () => undefined,
        termMoved: () => undefined,
        readState: () => undefined,
        failed: (error) => failures.push(error),
      },
    );
    return { loop, commits, sent, committed, finish, failures };
  }

  it('sends no vote request before its own vote is durable (D1)', async () => {
    const { loop, sent, finish } = loopOf();
    for (let i = 0; i < 25 && finish.length === 0; i += 1) loop.tick();
    expect(sent).toEqual([]);
    finish.shift()?.();
    await settle();
    expect(sent.map((message) => message.kind)).toEqual(['vote-request', 'vote-request']);
  });

  it('grants a vote and acknowledges entries only when they are durable', async () => {
    const { loop, sent, finish, committed } = loopOf();
    loop.step({
      ...{ kind: 'vote-request', from: B, to: A, term: term(1), preVote: false, transfer: false },
      ...{ lastIndex: logIndex(0), lastTerm: term(0) },
      ...{ commitIndex: logIndex(0), commitTerm: term(0) },
    });
    expect(sent).toEqual([]);
    finish.shift()?.();
    await settle();
    expect(sent.splice(0)).toMatchObject([{ kind: 'vote-response', granted: true }]);
    loop.step({
      ...{ kind: 'append-request', from: B, to: A, term: term(1), commit: logIndex(0) },
      ...{ prevIndex: logIndex(0), prevTerm: term(0), entries: [entry(1, 1)] },
    });
    expect(sent).toEqual([]);
    finish.shift()?.();
    await settle();
    expect(sent.splice(0)).toMatchObject([{ kind: 'append-response', index: 1, rejected: false }]);
    // Durable here is not committed.
    expect(committed).toEqual([]);
  });

  it('tells the log no commit while entries wait that may replace its end', async () => {
    const { loop, commits, finish } = loopOf();
    const append = (ofTerm: number, prev: number, entries: Entry[]): void =>
      loop.step({
        ...{ kind: 'append-request', from: ofTerm === 1 ? B : C, to: A, term: term(ofTerm) },
        ...{ commit: logIndex(0), prevIndex: logIndex(prev), prevTerm: term(prev), entries },
      });
    append(1, 0, [entry(1, 1)]);
    append(1, 1, [entry(2, 1), entry(3, 1)]);
    // Another leader replaces 2 and 3 while the first write still runs.
    append(2, 1, [entry(2, 2)]);
    const heartbeat = { kind: 'heartbeat', from: C, to: A, term: term(2), readRound: 0 } as const;
    loop.step({ ...heartbeat, commit: logIndex(2) });
    expect(commits).toEqual([]);
    for (let i = 0; i < 4 && commits.length === 0; i += 1) {
      expect(finish).toHaveLength(1);
      finish.shift()?.();
      await settle();
    }
    expect(commits).toEqual([2]);
    // The write that replaces is under way or done by now.
    expect(finish.length).toBeLessThan(2);
  });

  it('stops at a broken invariant instead of throwing it at a peer’s stream', async () => {
    const { loop, finish, failures } = loopOf();
    const heartbeat = { kind: 'heartbeat', to: A, term: term(3), readRound: 0 } as const;
    loop.step({ ...heartbeat, from: B, commit: logIndex(0) });
    finish.shift()?.();
    await settle();
    expect(() => loop.step({ ...heartbeat, from: C, commit: logIndex(0) })).not.toThrow();
    expect(failures).toHaveLength(1);
  });
});

describe('durable log', () => {
  it('tells the log only commits of entries it was given, the rest when they are written, and how long that took', async () => {
    const commits: number[] = [];
    const finish: (() => void)[] = [];
    const writes: unknown[] = [];
    let nowMs = 100;
    const durable = new DurableLog(
      {
        lastIndex: logIndex(3),
        append: () => new Promise((resolve) => finish.push(resolve)),
        setCommit: (commit) => commits.push(commit),
      },
      { stored: () => undefined },
      { nowMs: () => nowMs, wrote: (...told) => writes.push(told) },
    );
    durable.commitMoved(logIndex(5));
    expect(commits).toEqual([3]);
    const written = durable.append([entry(4, 1), entry(5, 1)], undefined);
    expect(commits).toEqual([3, 5]);
    let done = false;
    void written.then(() => (done = true));
    await settle();
    expect(done).toBe(false);
    expect(writes).toEqual([]);
    nowMs = 107;
    finish.shift()?.();
    await written;
    const noEntries = durable.append([], undefined);
    finish.shift()?.();
    await noEntries;
    expect(writes).toEqual([[[entry(4, 1), entry(5, 1)], 7]]);
  });
});

describe('sessions', () => {
  function openerOf() {
    const newest = { session: 0 };
    const log: string[] = [];
    const opener = new SessionOpener({
      nodeId: A,
      nonce: 77,
      tables: { sessions: { ofNode: () => newest.session } } as never,
      submit: (nonce) => log.push(`submit ${nonce}`),
      opened: (session) => log.push(`opened ${session}`),
      ended: (session) => log.push(`ended ${session}`),
    });
    const applied = (session: number, sequence: number): void => {
      newest.session = session;
      const kind = CommandKind.OpenSession;
      opener.applied(sequence, { kind, session: logIndex(session), nodeId: A });
    };
    return { opener, log, applied };
  }

  it('does not take a replayed session of an older boot for its own', () => {
    const { opener, log, applied } = openerOf();
    opener.tick();
    applied(5, 12);
    applied(9, 77);
    expect(log).toEqual(['submit 77', 'opened 9']);
  });

  it('opens anew when another entry ended it', () => {
    const { opener, log, applied } = openerOf();
    opener.tick();
    applied(9, 77);
    applied(20, 13);
    opener.tick();
    applied(30, 77);
    expect(log).toEqual(['submit 77', 'opened 9', 'ended 9', 'submit 77', 'opened 30']);
  });

  it('numbers open calls anew in a copy: what stands in a socket stays as it was', async () => {
    const wheel = new DeadlineWheel(() => 0);
    const forwarded: { call: Call; bytes: Uint8Array }[] = [];
    const intake: Intake = new Intake(
      wheel,
      (call) => {
        intake.stampCall(call);
        forwarded.push({ call, bytes: call.bytes });
      },
      1,
    );
    intake.openSession(5);
    const { bytes } = pushCommand('q', 'p', [{ transactionId: 'a', payload: '1' }]);
    const outcome = intake.submit(bytes, { deadlineMs: 1e9 });
    const sessionOf = (at: number): number =>
      commandU48(forwarded[at]?.bytes ?? bytes, COMMAND_HEADER.session);
    const before = Buffer.from(bytes);
    intake.stampCall(forwarded[0]!.call);
    intake.closeSession();
    intake.openSession(9);
    expect([sessionOf(0), sessionOf(1)]).toEqual([5, 9]);
    expect(Buffer.from(forwarded[0]!.bytes)).toEqual(before);
    intake.settle(5, 1, { kind: CommandKind.RaiseVersion, version: 6 });
    intake.settle(9, 1, { kind: 'ignored', why: 'ended' });
    await expect(outcome).rejects.toMatchObject({ code: 'retry' });
    wheel.stop();
  });
});

describe('reads', () => {
  it('wait for the own apply of what the quorum confirmed, and for no older round', async () => {
    let applied = 3;
    const asked: number[] = [];
    const rounds = new ReadRounds({
      wheel: new DeadlineWheel(() => 0),
      nowMs: () => 0,
      firstContext: 10,
      ask: (context) => {
        asked.push(context);
        return 'ok';
      },
      applied: () => logIndex(applied),
      hasLeader: () => true,
    });
    let done = false;
    const read = rounds.wait({ deadlineMs: 1e9 }).then(() => (done = true));
    rounds.restart();
    const [first = 0, second = 0] = asked;
    rounds.answered({ context: first, index: logIndex(1) });
    await settle();
    expect(done).toBe(false);
    rounds.answered({ context: second, index: logIndex(5) });
    await settle();
    expect(done).toBe(false);
    applied = 5;
    rounds.applied(logIndex(5));
    await read;
  });
});

describe('quorum watch', () => {
  const status = { role: 'leader', id: A, electionElapsed: 0 } as Partial<CoreStatus>;
  const peers = VOTERS.map((id) => ({ id, ticksSinceContact: 0 }));
  const core = {
    ...status,
    config: { ...EMPTY_CONFIG, voters: VOTERS },
    peers,
  } as unknown as CoreStatus;

  it('counts the time the process stood still, which ticks do not know', () => {
    let now = 0;
    const watch = new QuorumWatch(() => now, 100);
    now = 100;
    watch.ticked();
    expect(watch.quorumAckMs(core)).toBe(0);
    now = 5_000;
    expect(watch.quorumAckMs(core)).toBeGreaterThan(4_000);
    watch.ticked();
    expect(watch.quorumAckMs(core)).toBeGreaterThan(4_000);
    // Of the others it is no silence.
    expect(watch.unheardMs(core)).toBe(0);
    for (now = 5_100; now <= 5_500; now += 100) watch.ticked();
    expect(watch.quorumAckMs(core)).toBe(0);
  });

  it.each([
    [[0, 3, 20], 300],
    [[0, 12, 20], 1_200],
    [[0, 0, 0], 0],
  ])('hears a majority of %j ticks %d ms ago', (ages, unheardMs) => {
    const watch = new QuorumWatch(() => 0, 100);
    const heard = peers.map((peer, i) => ({ ...peer, ticksSinceContact: ages[i] ?? 0 }));
    expect(watch.unheardMs({ ...core, peers: heard } as unknown as CoreStatus)).toBe(unheardMs);
  });
});

describe('pop server', () => {
  const EMPTY: DispatchAnswer = {
    ...{ granted: false, conflation: false, conflationConflict: false, autopilot: null },
  };
  const pop = { ticket: { session: 1, sequence: 1 }, remainingMs: 1_000 } as ForwardedPop;

  function serverOf(health: { fresh: boolean; mayGrant: boolean; behind?: Promise<void> }) {
    const replies: PopReply[] = [];
    const waiting: ((answer: DispatchAnswer) => void)[] = [];
    const dispatcher: DispatcherPort = {
      pop: () => new Promise((resolve) => waiting.push(resolve)),
      start: () => undefined,
      stop: () => undefined,
    };
    const server = new PopServer({
      nowMs: () => 0,
      dispatcher: () => dispatcher,
      isQuorumFresh: () => health.fresh,
      mayGrant: () => health.mayGrant,
      caughtUp: () => health.behind,
    });
    return { server, replies, waiting, reply: (reply: PopReply) => replies.push(reply) };
  }

  it('says "empty" only while a quorum is heard', async () => {
    const health = { fresh: false, mayGrant: true };
    const { server, replies, waiting, reply } = serverOf(health);
    server.serve(B, pop, reply);
    waiting.shift()?.(EMPTY);
    await settle();
    expect(replies).toMatchObject([{ kind: 'refused' }]);
    expect(server.waitingPops).toBe(0);
  });

  it('asks the dispatcher only once all that was committed is applied', async () => {
    const waiters: (() => void)[] = [];
    const behind = new Promise<void>((resolve) => waiters.push(resolve));
    const health = { fresh: true, mayGrant: true, behind };
    const { server, waiting, reply } = serverOf(health);
    server.serve(B, pop, reply);
    await settle();
    expect(waiting).toHaveLength(0);
    waiters.shift()?.();
    await settle();
    expect(waiting).toHaveLength(1);
  });

  it('sends away the pops of a node that could not deliver', () => {
    const health = { fresh: true, mayGrant: true };
    const { server, replies, waiting, reply } = serverOf(health);
    server.serve(B, pop, reply);
    health.mayGrant = false;
    server.tick();
    server.serve(B, pop, reply);
    expect(replies).toMatchObject([{ kind: 'refused' }, { kind: 'refused' }]);
    expect(waiting).toHaveLength(1);
  });
});

describe('peer desk', () => {
  it('lets no malformed command and no foreign claim into the log', () => {
    const added: Uint8Array[] = [];
    const errors: string[] = [];
    const { commands } = createMachineParts({
      ...{ rows: {} as never, ids: {} as never, windowMinSeconds: 900 },
    });
    const parts = {
      packer: { isOpen: true, add: (bytes: Uint8Array) => added.push(bytes) > 0 },
      flow: new CommandFlow(new StageFigures(), () => 0),
      log: { error: (event: string) => errors.push(event) },
      takesPart: () => true,
      book: { has: (id: number) => id === B },
      commands,
    } as unknown as PeerDeskParts;
    const handlers = peerHandlers(parts);
    const { bytes } = pushCommand('q', 'p', [{ transactionId: 'a', payload: '1' }]);
    expect(handlers.command(B, bytes)).toBe(true);
    handlers.command(B, bytes.slice(0, bytes.length - 3));
    handlers.command(B, claimCommand([]).bytes);
    expect(added).toHaveLength(1);
    expect(errors).toHaveLength(2);
    // A node that is no member (any more) finds no way into the log.
    expect(handlers.command(nodeId(9), bytes)).toBe(false);
    expect(added).toHaveLength(1);
  });
});

describe('divergence watch', () => {
  function watchOf(self: NodeId, leader: NodeId) {
    const diverged: number[] = [];
    const told: number[] = [];
    let applied = 0;
    const watch = new DivergenceWatch({
      self,
      nowMs: () => 0,
      leads: () => self === leader,
      leader: () => leader,
      voters: () => VOTERS,
      applied: () => logIndex(applied),
      sendAll: ({ index }) => told.push(index),
      diverged: (index) => diverged.push(index),
      othersDiverged: () => undefined,
    });
    const apply = (index: number, byte: number): void => {
      applied = index;
      watch.applied(logIndex(index), new Uint8Array(8).fill(byte));
    };
    return { watch, diverged, told, apply };
  }
  const report = (byte: number) => ({ index: logIndex(7), digest: new Uint8Array(8).fill(byte) });

  it('stops the one that differs from a majority, at that index', () => {
    const { watch, diverged, told, apply } = watchOf(C, A);
    watch.received(A, report(1));
    watch.received(B, report(1));
    expect(told).toEqual([]);
    apply(7, 2);
    expect(told).toEqual([7]);
    expect(diverged).toEqual([7]);
  });

  it('does not stop the majority', () => {
    const { watch, diverged, apply } = watchOf(B, A);
    apply(7, 1);
    watch.received(A, report(1));
    watch.received(C, report(2));
    expect(diverged).toEqual([]);
  });
});

describe('applied waiters', () => {
  it('wait for the commit of the moment they came, no longer', async () => {
    let [commit, applied] = [5, 5];
    const waiters = new AppliedWaiters({ commit: () => commit, applied: () => applied });
    expect(waiters.caughtUp()).toBeUndefined();
    commit = 7;
    const done: number[] = [];
    void waiters.caughtUp()?.then(() => done.push(7));
    commit = 9;
    void waiters.caughtUp()?.then(() => done.push(9));
    for (applied = 6; applied <= 7; applied += 1) waiters.applied(applied);
    await settle();
    expect(done).toEqual([7]);
    waiters.stop();
    await settle();
    expect(done).toEqual([7, 9]);
  });
});
