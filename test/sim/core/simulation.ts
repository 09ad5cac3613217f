/**
 * One random run of the core: three voters and two spare nodes, a bag of messages, faults drawn by
 * weight, safety checked after every event; then everything is healed and the group must converge.
 * Seed in, verdict out; the same seed always gives the same run.
 */
import { logIndex, nodeId, term, type NodeId } from '../../../src/common/ids.js';
import type { Message } from '../../../src/raft/core/messages.js';
import type { RaftCore } from '../../../src/raft/core/core.js';
import { memberIds } from '../../../src/raft/core/membership.js';
import type { ChangeAction, SingleChange, SnapshotMeta } from '../../../src/raft/core/types.js';
import { Oracle, type Observed } from './oracle.js';
import { Prng } from './prng.js';
import { SimNode } from './sim-node.js';
import { ACTIONS, drawSwarm, type Action, type Swarm } from './swarm.js';

const NODE_COUNT = 5;
const VOTER_COUNT = 3;
const HEAL_ROUNDS = 600;

export class LivenessViolation extends Error {}

export interface RunStats {
  readonly committed: number;
  readonly delivered: number;
  readonly elections: number;
  readonly reads: number;
}

interface SnapshotReport {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly delivered: boolean;
}

export class Simulation {
  private readonly random: Prng;
  private readonly swarm: Swarm;
  private readonly oracle: Oracle;
  private readonly nodes: SimNode[] = [];
  private bag: Message[] = [];
  private cut: ReadonlySet<NodeId> = new Set();
  private reports: SnapshotReport[] = [];
  private payload = 0;
  private contexts = 0;
  private delivered = 0;
  private readonly terms = new Set<number>();

  constructor(seed: number, adjust: (swarm: Swarm) => Swarm = (swarm) => swarm) {
    this.random = new Prng(seed);
    this.swarm = adjust(drawSwarm(this.random));
    const ids = Array.from({ length: NODE_COUNT }, (_, i) => nodeId(i + 1));
    const base: SnapshotMeta = {
      index: logIndex(1),
      term: term(1),
      config: {
        voters: ids.slice(0, VOTER_COUNT),
        outgoing: [],
        learners: [],
        learnersNext: [],
        autoLeave: false,
      },
    };
    this.oracle = new Oracle(base);
    const world = {
      random: this.random,
      swarm: this.swarm,
      oracle: this.oracle,
      post: (message: Message) => void this.bag.push(message),
      touched: (node: SimNode) => this.check(node),
    };
    for (const id of ids) {
      this.nodes.push(new SimNode(id, world, id <= VOTER_COUNT ? base : undefined));
    }
  }

  run(): RunStats {
    const total = ACTIONS.reduce((sum, action) => sum + this.swarm.weights[action], 0);
    for (let step = 0; step < this.swarm.steps; step += 1) {
      const action = this.draw(total);
      // Nothing on the way: time passes instead.
      this.act(action === 'deliver' && this.bag.length === 0 ? 'tick' : action);
      if (step % 100 === 0) this.oracle.checkLogMatching(this.observed());
    }
    this.oracle.checkLogMatching(this.observed());
    this.converge();
    return {
      committed: this.oracle.maxCommit,
      delivered: this.delivered,
      elections: this.terms.size,
      reads: this.contexts,
    };
  }

  private draw(total: number): Action {
    let ticket = this.random.next() * total;
    for (const action of ACTIONS) {
      ticket -= this.swarm.weights[action];
      if (ticket < 0) return action;
    }
    return 'deliver';
  }

  private act(action: Action): void {
    switch (action) {
      case 'deliver':
        return this.deliver(this.takeMessage());
      case 'drop':
        return this.lose(this.takeMessage());
      case 'duplicate': {
        const message = this.bag[this.random.below(Math.max(1, this.bag.length))];
        if (message !== undefined) this.bag.push(message);
        return;
      }
      case 'partition':
        this.cut = this.drawCut();
        return;
      case 'heal':
        this.cut = new Set();
        return;
      case 'restart': {
        const down = this.nodes.filter((node) => node.core === undefined);
        if (down.length > 0) this.restart(this.random.pick(down));
        return;
      }
      default:
        return this.actOn(action, this.pickNode(action));
    }
  }

  /** Steps spent on nodes with nothing to do would only dilute the run. */
  private pickNode(action: Action): SimNode {
    const eligible = this.nodes.filter((node) => {
      if (node.core === undefined) return false;
      switch (action) {
        case 'tick':
          return node.state.config.voters.length > 0;
        case 'ready':
          return node.core.hasReady();
        case 'append':
          return node.hasAppendJob();
        case 'apply':
          return node.hasApplyJob();
        case 'propose':
        case 'change':
        case 'transfer':
          return node.state.role === 'leader';
        default:
          return true;
      }
    });
    const pool = eligible.length > 0 && !this.random.chance(0.1) ? eligible : this.nodes;
    return this.random.pick(pool);
  }

  private actOn(action: Action, node: SimNode): void {
    const { core } = node;
    if (core === undefined) return;
    switch (action) {
      case 'ready':
        node.handleReady(core);
        break;
      case 'append':
        node.finishAppend(core);
        break;
      case 'apply':
        node.finishApply(core);
        break;
      case 'tick':
        core.tick();
        break;
      case 'crash':
        node.crash();
        return;
      case 'checkpoint':
        node.takeCheckpoint(this.random.chance(0.5));
        break;
      case 'forget':
        core.forgetLeader();
        break;
      default:
        this.request(action, core, node);
    }
    this.reportSnapshots();
    this.check(node);
  }

  private request(action: Action, core: RaftCore, node: SimNode): void {
    const other = this.random.pick(this.nodes).id;
    // Also a leader that has been replaced and does not know.
    const { role } = node.state;
    switch (action) {
      case 'propose':
        this.propose(core);
        return;
      case 'change':
        if (role === 'leader') core.proposeChange(this.drawChange(node));
        return;
      case 'transfer':
        core.transferLeadership(other);
        return;
      case 'read':
        this.contexts += 1;
        this.oracle.readAsked(this.contexts);
        core.readIndex(this.contexts);
        return;
      case 'unreachable':
        core.reportUnreachable(other);
        return;
      default:
        throw new Error(`no such action: ${action}`);
    }
  }

  private propose(core: RaftCore): void {
    this.payload += 1;
    const data = new Uint8Array(4);
    new DataView(data.buffer).setUint32(0, this.payload);
    core.propose(data);
  }

  private drawChange(node: SimNode): Parameters<RaftCore['proposeChange']>[0] {
    const transition = this.random.pick(['auto', 'implicit', 'explicit'] as const);
    if (node.state.config.outgoing.length > 0) return { transition: 'auto', changes: [] };
    const actions: ChangeAction[] = ['add-voter', 'add-voter', 'add-learner', 'remove'];
    const changes: SingleChange[] = [];
    for (let count = 1 + this.random.below(3); count > 0; count -= 1) {
      changes.push({ action: this.random.pick(actions), node: this.random.pick(this.nodes).id });
    }
    return { transition, changes };
  }

  /** Often the leader with one other; nobody can tell from inside. */
  private drawCut(): ReadonlySet<NodeId> {
    const cut = new Set<NodeId>([this.random.pick(this.nodes).id]);
    const leader = this.nodes.find(
      (node) => node.core !== undefined && node.state.role === 'leader',
    );
    if (leader !== undefined && this.random.chance(0.7)) cut.add(leader.id);
    return cut;
  }

  private takeMessage(): Message | undefined {
    if (this.bag.length === 0) return undefined;
    const at = this.swarm.inOrder ? 0 : this.random.below(this.bag.length);
    return this.bag.splice(at, 1)[0];
  }

  private deliver(message: Message | undefined): void {
    if (message === undefined) return;
    const node = this.nodes[message.to - 1];
    const blocked = this.cut.has(message.from) !== this.cut.has(message.to);
    if (blocked || node?.core === undefined) return this.lose(message);
    this.delivered += 1;
    node.core.step(message);
    this.noteSnapshot(message, true);
    this.check(node);
  }

  private lose(message: Message | undefined): void {
    if (message !== undefined) this.noteSnapshot(message, false);
  }

  /** Rule D4: every snapshot gets an outcome sooner or later. */
  private noteSnapshot(message: Message, delivered: boolean): void {
    if (message.kind !== 'snapshot') return;
    this.reports.push({ from: message.from, to: message.to, delivered });
  }

  private reportSnapshots(): void {
    if (this.reports.length === 0 || this.random.chance(0.5)) return;
    const report = this.reports.shift();
    if (report === undefined) return;
    const sender = this.nodes[report.from - 1];
    sender?.core?.reportSnapshot(report.to, report.delivered ? 'sent' : 'failed');
  }

  private restart(node: SimNode): void {
    node.start();
    this.check(node);
  }

  private observed(): Observed[] {
    return this.nodes
      .filter((node) => node.core !== undefined)
      .map(({ id, state, disk }) => ({ id, state, disk }));
  }

  private check(node: SimNode): void {
    if (node.core === undefined) return;
    const all = (): Observed[] =>
      this.nodes.map(({ id, disk }) => ({ id, disk, state: node.state }));
    this.terms.add(node.state.term);
    this.oracle.check({ id: node.id, state: node.state, disk: node.disk }, all);
  }

  /** Faults stop, everybody runs: the group must elect, catch everyone up and commit. */
  private converge(): void {
    this.cut = new Set();
    for (const node of this.nodes) if (node.core === undefined) this.restart(node);
    // The leader's first own proposal after the faults; void when another leader takes over.
    let target = { term: 0, index: 0 };
    for (let round = 0; round < HEAL_ROUNDS; round += 1) {
      const leader = this.leader();
      this.calmRound(leader);
      if (leader?.core === undefined || leader.state.role !== 'leader') continue;
      const { term: current, log, termStart } = leader.state;
      if (target.term !== current && log.committed >= termStart) {
        this.propose(leader.core);
        target = { term: current, index: log.lastIndex() };
      }
      if (target.term === current && this.hasConverged(leader, target.index)) return;
    }
    const states = this.nodes.map((node) => this.summary(node, target));
    throw new LivenessViolation(`no convergence: ${JSON.stringify(states)}`);
  }

  private summary(node: SimNode, target: object): object {
    const { state } = node;
    return {
      ...{ target, machine: node.appliedIndex() },
      ...{ id: state.id, role: state.role, term: state.term, leader: state.leader },
      ...{ config: state.config, log: state.log.dump() },
      progress: [...state.progress].map(([id, p]) => [id, p.state, p.match, p.next, p.paused]),
    };
  }

  private leader(): SimNode | undefined {
    const leaders = this.nodes.filter(({ state }) => state.role === 'leader');
    return leaders.sort((a, b) => b.state.term - a.state.term)[0];
  }

  /** A removed node may not know; the operator has switched it off. */
  private calmRound(leader: SimNode | undefined): void {
    const members = leader === undefined ? undefined : memberIds(leader.state.config);
    const running = this.nodes.filter(
      (node) => members === undefined || members.includes(node.id) || node === leader,
    );
    for (const node of running) {
      node.core?.tick();
      this.check(node);
    }
    for (let turn = 0; turn < 4; turn += 1) {
      for (const node of this.nodes) {
        if (node.core === undefined) continue;
        node.handleReady(node.core);
        node.finishAppend(node.core);
        node.finishApply(node.core);
        this.check(node);
      }
      const messages = this.bag;
      this.bag = [];
      messages.forEach((message) => this.deliver(message));
      this.reportSnapshots();
    }
  }

  private hasConverged(leader: SimNode, target: number): boolean {
    const { config, progress, log } = leader.state;
    if (config.outgoing.length > 0 && config.autoLeave) return false;
    if (log.committed < target) return false;
    return memberIds(config).every((id) => {
      const node = this.nodes[id - 1];
      const state = progress.get(id)?.state;
      return node !== undefined && node.appliedIndex() === log.committed && state === 'replicate';
    });
  }
}

/** Runs one seed; throws with the seed in the message when a rule is broken. */
export function runSeed(seed: number, adjust?: (swarm: Swarm) => Swarm): RunStats {
  try {
    return new Simulation(seed, adjust).run();
  } catch (error) {
    if (error instanceof Error) error.message = `[core-sim seed ${seed}] ${error.message}`;
    throw error;
  }
}

export interface SeedRange {
  readonly first: number;
  readonly count: number;
  /** Wall-clock bound; at least one seed runs. */
  readonly maxMillis: number;
}

/** Entry for `npm run sim`: consecutive seeds until the count or the time is used up. */
export function runSeeds(range: SeedRange, now: () => number): { runs: number; stats: RunStats } {
  const started = now();
  const stats = { committed: 0, delivered: 0, elections: 0, reads: 0 };
  let runs = 0;
  while (runs < range.count && (runs === 0 || now() - started < range.maxMillis)) {
    const one = runSeed(range.first + runs);
    stats.committed += one.committed;
    stats.delivered += one.delivered;
    stats.elections += one.elections;
    stats.reads += one.reads;
    runs += 1;
  }
  return { runs, stats };
}
