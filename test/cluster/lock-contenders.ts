/**
 * Two owners that contend for one lock of a cluster without a pause: each takes it when it can, writes under
 * its guard, renews, gives it back or goes away. What they were told is kept with the instants of one clock,
 * and judged at the end: who may have believed to hold it, and what was written under which token.
 */
import { pause, type ClusterProcesses } from '../support/cluster-processes.js';

const CALL_LIMIT_MS = 1_500;
const BETWEEN_MS = 30;

export interface Hold {
  readonly owner: string;
  readonly token: number;
  /** When the owner was told. */
  readonly from: number;
  /** It may believe so until here: its lifetime after it asked, less the skew. */
  until: number;
}

interface LockElement {
  readonly acquired?: boolean;
  readonly renewed?: boolean;
  readonly already?: boolean;
  readonly token: number;
  readonly guard: object;
}

interface Answer {
  readonly element: LockElement;
  readonly sent: number;
}

interface Verdict {
  readonly success: boolean;
  readonly reason?: string;
  readonly results: readonly { readonly version?: number }[];
}

export interface ContentionOptions {
  readonly name: string;
  readonly ttlSeconds: number;
  readonly skewMs: number;
  readonly random: () => number;
}

export class Contention {
  readonly holds: Hold[] = [];
  /** Guarded writes that committed. */
  readonly written: { readonly token: number; readonly version: number }[] = [];
  /** Writes under a guard that was refused. */
  fenced = 0;
  private readonly tokens: number[] = [];
  private isOver = false;
  private asked = 0;

  constructor(
    private readonly cluster: ClusterProcesses,
    private readonly options: ContentionOptions,
  ) {}

  stop(): void {
    this.isOver = true;
  }

  /** Until it is stopped. */
  async run(owner: string): Promise<void> {
    let former: object | null = null;
    while (!this.isOver) {
      await pause(BETWEEN_MS * this.options.random());
      const guard = await this.hold(owner);
      if (guard === null) continue;
      // It was replaced meanwhile, or holds anew: a guard of its former permit is worth nothing.
      if (former !== null) await this.write(former, 0);
      former = guard;
    }
  }

  /** Both at once: pairs of holds of different owners. */
  overlaps(): [Hold, Hold][] {
    return this.holds.flatMap((one, i) =>
      this.holds
        .slice(i + 1)
        .filter(({ owner, from, until }) => {
          return owner !== one.owner && from < one.until && one.from < until;
        })
        .map((other): [Hold, Hold] => [one, other]),
    );
  }

  /** Writes under a token after a newer one was handed out; versions are in the order of the log. */
  lateWrites(): { readonly token: number; readonly version: number }[] {
    return this.written.filter(({ token, version }) =>
      this.tokens.some((newer) => newer > token && newer < version),
    );
  }

  /** One turn; the last guard of the permit, null when the lock was not to be had. */
  private async hold(owner: string): Promise<object | null> {
    const { name, ttlSeconds, random } = this.options;
    const first = await this.ask({ op: 'acquire', name, owner, ttlSeconds });
    if (first?.element.acquired !== true) return null;
    // Its own permit of an answer that got lost: nobody knows how old, so it starts a new life first.
    let held = first.element.already === true ? await this.renew(owner, first.element) : first;
    if (held === null) return null;
    this.told(owner, held);
    for (let works = Math.floor(random() * 4); works > 0; works -= 1) {
      await pause(random() * ttlSeconds * 700);
      if (random() < 0.4) {
        const next = await this.renew(owner, held.element);
        if (next === null) return held.element.guard;
        held = next;
        this.told(owner, held);
      }
      await this.write(held.element.guard, held.element.token);
    }
    if (random() < 0.6) {
      this.givenBack(owner);
      await this.ask({ op: 'release', name, token: held.element.token });
    }
    return held.element.guard;
  }

  private async renew(owner: string, { token }: LockElement): Promise<Answer | null> {
    const { name, ttlSeconds } = this.options;
    const answer = await this.ask({ op: 'renew', name, owner, token, ttlSeconds });
    return answer?.element.renewed === true ? answer : null;
  }

  private told(owner: string, { element: { token }, sent }: Answer): void {
    const { ttlSeconds, skewMs } = this.options;
    const from = performance.now();
    const until = sent + ttlSeconds * 1000 - skewMs;
    this.tokens.push(token);
    // An answer that came too late is worth nothing.
    if (until > from) this.holds.push({ owner, token, from, until });
  }

  /** From here on it may be anybody's. */
  private givenBack(owner: string): void {
    const now = performance.now();
    for (const hold of this.holds) {
      if (hold.owner === owner) hold.until = Math.min(hold.until, now);
    }
  }

  /** `token` 0: of a former permit, which must lose. */
  private async write(guard: object, token: number): Promise<void> {
    const { name } = this.options;
    const put = { op: 'put', ns: 'guarded', key: name, value: token, forever: true };
    const verdict = await this.send<Verdict>('/api/v1/transaction', { kv: [guard, put] });
    if (verdict === null) return;
    if (!verdict.success) {
      if (verdict.reason === 'kv_precondition') this.fenced += 1;
      return;
    }
    const { expect } = guard as { readonly expect: number };
    this.written.push({ token: expect, version: verdict.results[1]?.version ?? 0 });
  }

  private async ask(operation: object): Promise<Answer | null> {
    const sent = performance.now();
    const body = { operations: [operation] };
    const answer = await this.send<{ results: LockElement[] }>('/api/v1/locks', body);
    const element = answer?.results[0];
    return element === undefined ? null : { element, sent };
  }

  /** At the nodes in turn; null without an answer that says anything. */
  private async send<T>(path: string, body: object): Promise<T | null> {
    const { ids } = this.cluster;
    const id = ids[this.asked++ % ids.length] ?? 1;
    try {
      const response = await fetch(this.cluster.url(id) + path, {
        method: 'POST',
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(CALL_LIMIT_MS),
      });
      const answer = (await response.json()) as T;
      return response.status === 200 ? answer : null;
    } catch (error) {
      // A stopped node does not answer; the next one is asked.
      void error;
      return null;
    }
  }
}
