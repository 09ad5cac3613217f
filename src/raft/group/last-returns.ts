/**
 * The last moments of a group whose log met damage. A pop may have its grant committed already, one that
 * commits on delivery even its position: it gets its messages, or is handed back, before the group stops,
 * else its messages would be lost to the consumer (cluster.md §7.7, F3). Bounded: then the group stops anyway.
 */
import type { GroupLog } from './ports.js';

const STEP_MS = 20;
const LIMIT_MS = 1_000;

export class LastReturns {
  private readonly open = new Set<Promise<void>>();
  private ending = false;

  /** `isServing`: claims are on their way whose pops have not begun to read, or messages are being read. */
  constructor(
    private readonly log: Pick<GroupLog, 'warn'>,
    private readonly isServing: () => boolean,
  ) {}

  /** No pop is taken any more. */
  get isEnding(): boolean {
    return this.ending;
  }

  /** The command that hands a grant back is on its way. */
  track(sent: Promise<unknown>): void {
    const returned = sent.then(
      () => undefined,
      (error: unknown) => {
        // The lease then ends with its time; nothing is lost but an attempt.
        this.log.warn('grant was not handed back', { error: String(error) });
      },
    );
    this.open.add(returned);
    void returned.then(() => this.open.delete(returned));
  }

  /** Calls `stop` once nothing is granted, read or handed back any more. The first caller counts. */
  end(stop: () => void): void {
    if (this.ending) return;
    this.ending = true;
    const untilMs = performance.now() + LIMIT_MS;
    const look = (): void => {
      const isQuiet = this.open.size === 0 && !this.isServing();
      if (isQuiet || performance.now() >= untilMs) stop();
      else setTimeout(look, STEP_MS);
    };
    // Whoever waits for the read hears of its failure first.
    setTimeout(look, STEP_MS);
  }
}
