/**
 * A client of a broker that dies now and then: one connection, opened again when it is needed. A call
 * that got no answer is `null`: its outcome is unknown.
 */
import { Connection, ConnectionLost, type TextAnswer } from '../bench/http/connection.js';

const CALL_TIMEOUT_MS = 40_000;

export class CrashClient {
  private connection: Connection | null = null;

  constructor(private readonly port: number) {}

  async call(method: string, path: string, body = ''): Promise<TextAnswer | null> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      if (this.connection === null || this.connection.isLost) {
        this.connection = await Connection.open(this.port);
      }
      const { connection } = this;
      const late = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(
          () => reject(new Error(`no answer: ${method} ${path}`)),
          CALL_TIMEOUT_MS,
        );
      });
      return await Promise.race([connection.request(method, path, body), late]);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      this.close();
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.connection?.close();
    this.connection = null;
  }
}
