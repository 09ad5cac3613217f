/**
 * A client of brokers that die now and then: one connection, opened again when it is needed. A call
 * that got no answer is `null`: its outcome is unknown. With several nodes a failed call moves on to
 * the next one.
 */
import { Connection, ConnectionLost, type TextAnswer } from '../bench/http/connection.js';

const CALL_TIMEOUT_MS = 40_000;

/** Ports of the nodes of a cluster; a call that is not answered in time counts as lost. */
export interface ClusterTarget {
  readonly ports: readonly number[];
  readonly attemptMs: number;
}

/** One broker that must answer everything, or a cluster. */
export type Target = number | ClusterTarget;

export class CrashClient {
  private connection: Connection | null = null;
  /** Counts closes: a connection that opens after one belongs to a call that was given up. */
  private epoch = 0;
  private readonly ports: readonly number[];
  private readonly attemptMs: number | null;

  constructor(
    target: Target,
    private at = 0,
  ) {
    this.ports = typeof target === 'number' ? [target] : target.ports;
    this.attemptMs = typeof target === 'number' ? null : target.attemptMs;
  }

  async call(method: string, path: string, body = ''): Promise<TextAnswer | null> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(
        () => reject(this.lateError(`${method} ${path}`)),
        this.attemptMs ?? CALL_TIMEOUT_MS,
      );
    });
    try {
      const answer = await Promise.race([this.ask(method, path, body), late]);
      if (answer.status === 503) this.moveOn();
      return answer;
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      this.close();
      this.moveOn();
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.epoch += 1;
    this.connection?.close();
    this.connection = null;
  }

  private async ask(method: string, path: string, body: string): Promise<TextAnswer> {
    if (this.connection === null || this.connection.isLost) {
      const { epoch } = this;
      const opened = await Connection.open(this.ports[this.at % this.ports.length] ?? 0);
      if (epoch !== this.epoch) {
        opened.close();
        throw new ConnectionLost('given up while it connected');
      }
      this.connection = opened;
    }
    return this.connection.request(method, path, body);
  }

  private lateError(what: string): Error {
    const text = `no answer: ${what}`;
    return this.attemptMs === null ? new Error(text) : new ConnectionLost(text);
  }

  private moveOn(): void {
    if (this.ports.length === 1) return;
    this.close();
    this.at += 1;
  }
}
