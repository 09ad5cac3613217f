/**
 * Runs one sequence against a broker and the model side by side and stops at the first difference.
 */
import { Illegal, type Answer } from './answers.js';
import type { BrokerPort, Call } from './broker-port.js';
import { prepare, prepareLetters, type Past, type Prepared } from './calls.js';
import { Bindings, difference } from './matching.js';
import type { Op, Step, WaitOp } from './operations.js';
import { park } from './parking.js';
import { SPEC, type Rules } from './rules.js';
import { emptyState, takenUntil, type State } from './state.js';

export interface Clock {
  readonly nowMs: number;
  advance(ms: number): void;
}

export interface World {
  readonly broker: BrokerPort;
  readonly clock: Clock;
}

export interface Difference {
  /** Position in the sequence. */
  readonly at: number;
  readonly step: Step;
  readonly text: string;
}

export interface Outcome {
  readonly difference: Difference | null;
  readonly operations: number;
}

/** Time between two operations. */
const STEP_MS = 10;
/** Nothing is asked this near to the end of a lease, a delay or a window. */
const MARGIN_MS = 50;
const NOWHERE = '01990000-0000-7000-8000-000000000bad';
const NO_PARTITION = '9007199254740000';

let tenants = 0;

export async function runSequence(
  world: World,
  steps: readonly Step[],
  rules: Rules = SPEC,
): Promise<Outcome> {
  tenants += 1;
  const tenant = `00000000-0000-4000-8000-${tenants.toString(16).padStart(12, '0')}`;
  const run = new Run(world, tenant, emptyState(rules, world.clock.nowMs));
  for (const [at, step] of steps.entries()) {
    const text = await run.step(step);
    if (text !== null) return { difference: { at, step, text }, operations: run.calls };
  }
  return { difference: null, operations: run.calls };
}

class Run {
  calls = 0;
  private readonly past: Past = { startedAt: new Map(), pops: new Map() };
  private readonly bindings = new Bindings();

  constructor(
    private readonly world: World,
    private readonly tenant: string,
    private readonly state: State,
  ) {}

  async step(step: Step): Promise<string | null> {
    this.pass(step.op.kind === 'advance' ? step.op.ms : STEP_MS);
    return this.operate(step);
  }

  private async operate({ number, op }: Step): Promise<string | null> {
    this.past.startedAt.set(number, this.state.now);
    if (op.kind === 'wait') return this.waitFor(number, op);
    if (op.kind === 'restart') {
      await this.world.broker.restart();
      this.state.boot += 1;
      return null;
    }
    if (op.kind === 'replay' || op.kind === 'deleteMessage') {
      // The ids of dead letters become known from their list.
      const listed = await this.compare(prepareLetters(this.state, {}));
      if (listed !== null) return `${listed} (list of dead letters)`;
    }
    const prepared = prepare(this.state, this.past, number, op);
    return prepared === null ? null : this.compare(prepared);
  }

  private pass(ms: number): void {
    const { clock } = this.world;
    clock.advance(ms);
    while (isNearAnEnd(this.state, clock.nowMs)) clock.advance(MARGIN_MS + 20);
    this.state.now = clock.nowMs;
  }

  /** A pop that finds nothing waits; what happens meanwhile answers it, or does not. */
  private async waitFor(number: number, { pop, meanwhile }: WaitOp): Promise<string | null> {
    const { broker, clock } = this.world;
    const asked = { ...pop, wait: true as const };
    const first = this.prepared(number, asked);
    if (!this.isEmpty(first)) return (await this.compare(first)) ?? this.step(meanwhile);
    // In a partition that comes later nothing is old.
    const isThere =
      this.state.queues.get(pop.queue)?.partitions.has(pop.partition) === true ||
      pop.scope !== 'partition';
    const { from: _from, ...fromStart } = { ...asked, mode: 'all' };
    this.calls += 1;
    const parked = await park(broker, this.callOf(first));
    if (parked.settled !== null) return `answered at once: ${JSON.stringify(parked.settled)}`;
    clock.advance(1);
    this.state.now = clock.nowMs;
    const different = await this.operate(meanwhile);
    const again = this.prepared(number, isThere ? asked : fromStart);
    const isEmpty = different === null && this.isEmpty(again);
    if (different !== null || isEmpty) await parked.leave();
    if (different !== null) return different;
    if (isEmpty && parked.settled === null) return null;
    const answer = await parked.answered();
    return answer === null ? 'still waits for what it could have' : this.judged(again, answer);
  }

  private prepared(number: number, op: Op): Prepared {
    const prepared = prepare(this.state, this.past, number, op);
    if (prepared === null) throw new Error(`${op.kind} has no call`);
    return prepared;
  }

  /** Whether the model says that a pop finds nothing. */
  private isEmpty(pop: Prepared): boolean {
    try {
      pop.judge({ status: 204, body: undefined });
      return true;
    } catch (error) {
      if (error instanceof Illegal) return false;
      throw error;
    }
  }

  private callOf(prepared: Prepared): Call {
    const { path, body, ...call } = prepared.call;
    return {
      ...call,
      path: this.real(path),
      tenant: this.tenant,
      ...(body === undefined ? {} : { body: this.realBody(body) }),
    };
  }

  private async compare(prepared: Prepared): Promise<string | null> {
    this.calls += 1;
    return this.judged(prepared, await this.world.broker.send(this.callOf(prepared)));
  }

  private judged(prepared: Prepared, answer: Answer): string | null {
    try {
      const shown = { status: answer.status, body: this.withSymbols(answer.body) };
      return difference(this.bindings, prepared.judge(shown), answer);
    } catch (error) {
      if (!(error instanceof Illegal)) throw error;
      return `${error.message}: ${JSON.stringify(this.withSymbols(answer.body))}`;
    }
  }

  private real(text: string): string {
    return text.replaceAll(/\$[A-Za-z]+:?[A-Za-z0-9:~.#_-]*/g, (symbol) => {
      const bound = this.bindings.realOf(symbol);
      return bound ?? (symbol.startsWith('$P:') ? NO_PARTITION : NOWHERE);
    });
  }

  private realBody(body: unknown): unknown {
    return JSON.parse(JSON.stringify(body), (_key, value: unknown) =>
      typeof value === 'string' ? this.real(value) : value,
    );
  }

  /**
   * Ids as symbols. A partition met for the first time gets its symbol here, from the queue and name that
   * its messages carry, so that the model can tell which one was claimed.
   */
  private withSymbols(body: unknown): unknown {
    if (body === undefined) return undefined;
    this.nameNewPartitions(body);
    return JSON.parse(JSON.stringify(body), (_key, value: unknown) =>
      typeof value === 'string' ? (this.bindings.symbolOf(value) ?? value) : value,
    );
  }

  private nameNewPartitions(body: unknown): void {
    const messages = (body as { readonly messages?: unknown } | null)?.messages;
    if (!Array.isArray(messages)) return;
    for (const { partition, partitionId } of messages as readonly Record<string, string>[]) {
      if (partitionId === undefined || this.bindings.symbolOf(partitionId) !== undefined) continue;
      for (const queue of this.state.queues.values()) {
        const known = queue.partitions.get(partition ?? '');
        if (known !== undefined) this.bindings.bind(known.id, partitionId);
      }
    }
  }
}

function isNearAnEnd(state: State, now: number): boolean {
  const near = (end: number): boolean => Math.abs(now - end) <= MARGIN_MS;
  for (const { options, partitions } of state.queues.values()) {
    const { delayedProcessing, windowBuffer, dedupWindowSeconds } = options;
    const spans = [delayedProcessing, windowBuffer, dedupWindowSeconds].filter((s) => s > 0);
    for (const { messages, cursors } of partitions.values()) {
      for (const { lease } of cursors.values()) {
        if (lease === null) continue;
        if (near(lease.expiresAt) || near(takenUntil(state, lease))) return true;
      }
      for (const { createdAt } of messages) {
        if (spans.some((seconds) => near(createdAt + seconds * 1000))) return true;
      }
    }
  }
  return false;
}
