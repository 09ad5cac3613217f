/**
 * An operator who changes the membership in any weather: adds, promotes, removes and replaces nodes
 * through whichever node answers, and repeats what was left in doubt. Keeps the rules of the page: one
 * thing at a time, a disk is emptied only after its removal was answered with success, then the node
 * joins anew. What the answer to a removal promises is checked by what follows.
 */
import type {
  MembershipAnswer,
  MembershipRequest,
} from '../../../src/raft/group/cluster/membership-port.js';
import type { Prng } from '../core/prng.js';
import type { Oracle } from './oracle.js';
import type { SimNode } from './sim-node.js';
import type { VirtualTime } from './virtual-time.js';

const SECOND = 1_000_000;
const PATIENCE_MS = 3_000;
/** Fewer voters are left alone: two that lose a disk each are no cluster any more. */
const LEAST_VOTERS = 3;

/** What is known from answers: a step in doubt is repeated before the next is taken. */
type Phase = 'voter' | 'removing' | 'fresh' | 'learner';
type Change = Exclude<MembershipRequest, { kind: 'read' }>;

export interface OperatorOptions {
  readonly time: VirtualTime;
  readonly prng: Prng;
  readonly nodes: readonly SimNode[];
  readonly oracle: Oracle;
  /** Nodes that wait to be added at the start. */
  readonly fresh: readonly number[];
  say(line: string): void;
  /** Ends the node and empties its disk; it starts again by itself. */
  replaceDisk(node: SimNode): void;
}

export class Operator {
  readonly counts = { asked: 0, done: 0, added: 0, promoted: 0, removed: 0, replaced: 0 };
  stopped = false;
  private readonly phases = new Map<number, Phase>();

  constructor(private readonly options: OperatorOptions) {
    for (const { id } of options.nodes) {
      this.phases.set(id, options.fresh.includes(id) ? 'fresh' : 'voter');
    }
  }

  start(): void {
    const { time, prng, oracle } = this.options;
    const step = (): void => {
      if (this.stopped) return;
      this.step().then(
        () => time.after(prng.below(2 * SECOND), step, 0),
        (error: unknown) => oracle.broke(error),
      );
    };
    time.after(prng.below(2 * SECOND), step, 0);
  }

  /** Resolves when every node is a voter. */
  async finish(): Promise<void> {
    const { time, nodes } = this.options;
    for (;;) {
      const open = nodes.filter((node) => this.phases.get(node.id) !== 'voter');
      for (const node of open) await this.advance(node);
      if (open.length === 0 && (await this.allVote())) return;
      await time.sleep(SECOND / 2);
    }
  }

  state(): string {
    return JSON.stringify([...this.phases]);
  }

  /**
   * A node on its way asks members who may not have heard yet that its number is free, also when it starts
   * once more as a learner: it tries again.
   */
  mayBeRefused(node: SimNode, error: unknown): boolean {
    const isRefusal = error instanceof Error && error.name === 'IdentityRefusal';
    const phase = this.phases.get(node.id);
    return isRefusal && (phase === 'fresh' || phase === 'learner');
  }

  private async step(): Promise<void> {
    const { prng, nodes } = this.options;
    const open = nodes.filter((node) => this.phases.get(node.id) !== 'voter');
    const learner = open.find((node) => this.phases.get(node.id) === 'learner');
    const voters = nodes.filter((node) => this.phases.get(node.id) === 'voter');
    const mayReplace = voters.length >= LEAST_VOTERS;
    if (open.length > 0 && prng.chance(0.7)) {
      if (learner !== undefined && mayReplace && prng.chance(0.3))
        await this.replaceBy(learner, voters);
      else await this.advance(prng.pick(open));
    } else if (voters.length > LEAST_VOTERS) {
      await this.remove(prng.pick(voters));
    }
  }

  /** The next step of a node on its way to be a voter. */
  private async advance(node: SimNode): Promise<void> {
    const { id } = node;
    const phase = this.phases.get(id);
    if (phase === 'removing') await this.remove(node);
    else if (phase === 'fresh') {
      const raft = `n${id}:1`;
      const answer = await this.ask({ kind: 'add-learner', id, raft, http: raft });
      if (answer?.ok === true) this.moved(node, 'learner', 'added');
    } else if (phase === 'learner') {
      const force = this.options.prng.chance(0.2);
      const answer = await this.ask({ kind: 'promote', ids: [id], force });
      if (answer?.ok === true) this.moved(node, 'voter', 'promoted');
    }
  }

  /** One joint change: a learner takes the place of a voter. */
  private async replaceBy(learner: SimNode, voters: readonly SimNode[]): Promise<void> {
    const out = this.options.prng.pick(voters);
    const ids = [learner, ...voters.filter((one) => one !== out)].map(({ id }) => id);
    // Whatever comes of it, both are looked at again: the one removed, the other promoted.
    this.phases.set(out.id, 'removing');
    const voterIds = ids.sort((a, b) => a - b);
    const answer = await this.ask({ kind: 'set-voters', voters: voterIds, force: false });
    if (answer?.ok === true) this.moved(learner, 'voter', 'replaced');
  }

  private async remove(node: SimNode): Promise<void> {
    this.phases.set(node.id, 'removing');
    const answer = await this.ask({ kind: 'remove', id: node.id });
    if (answer?.ok !== true) return;
    this.moved(node, 'fresh', 'removed');
    this.options.replaceDisk(node);
  }

  private moved(node: SimNode, phase: Phase, as: keyof Operator['counts']): void {
    this.phases.set(node.id, phase);
    this.counts[as] += 1;
    this.options.oracle.note(`${node.id} ${as}`);
  }

  /** Null when no node is up or it died meanwhile. */
  private async ask(request: MembershipRequest): Promise<MembershipAnswer | null> {
    const { nodes, prng, time, say } = this.options;
    const node = prng.pick(nodes);
    const group = node.group;
    if (group === null || time.isPaused(node.id)) return null;
    if (request.kind !== 'read') this.counts.asked += 1;
    const asked = time.as(node.id, () => group.cluster.membership.request(request, PATIENCE_MS));
    const died = time.sleep(3 * PATIENCE_MS * 1_000).then(() => null);
    const answer = await Promise.race([asked, died]);
    if (request.kind === 'read') return answer;
    if (answer?.ok === true) this.counts.done += 1;
    say(`${shown(request)} at ${node.id}: ${answer === null ? 'no answer' : verdict(answer)}`);
    return answer;
  }

  private async allVote(): Promise<boolean> {
    const answer = await this.ask({ kind: 'read' });
    if (answer?.ok !== true || answer.membership.source !== 'leader') return false;
    const { voters, joint, changeInFlight } = answer.membership;
    const isWhole = voters.length === this.options.nodes.length;
    return isWhole && joint === null && !changeInFlight;
  }
}

function verdict(answer: MembershipAnswer): string {
  return answer.ok ? 'done' : answer.code;
}

function shown(request: Change): string {
  const { kind, ...rest } = request;
  return `${kind} ${JSON.stringify(rest)}`;
}
