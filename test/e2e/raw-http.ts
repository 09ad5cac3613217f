/**
 * A client on a plain socket, for what `fetch` cannot say: broken request lines, wrong lengths, slow
 * and half-sent bodies, connections cut at a chosen moment.
 */
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export class RawClient {
  private received = '';
  private isClosed = false;
  private changed: () => void = () => undefined;

  private constructor(private readonly socket: Socket) {
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      this.received += text;
      this.changed();
    });
    socket.on('close', () => {
      this.isClosed = true;
      this.changed();
    });
    // A reset is a way for the other side to close; what it said before is in `received`.
    socket.on('error', () => this.changed());
  }

  static async open(port: number): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1');
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new RawClient(socket);
  }

  write(text: string | Uint8Array): this {
    this.socket.write(text);
    return this;
  }

  /** Sends a request with exactly these header lines. */
  request(line: string, headers: readonly string[] = [], body: string | Uint8Array = ''): this {
    this.write(`${[`${line} HTTP/1.1`, 'Host: x', ...headers].join('\r\n')}\r\n\r\n`);
    return body.length === 0 ? this : this.write(body);
  }

  /** Leaves what the broker sends in the socket buffers. */
  pauseReading(): void {
    this.socket.pause();
  }

  /** Cuts the connection. */
  destroy(): void {
    this.socket.destroy();
  }

  /** Closes our half. */
  end(): void {
    this.socket.end();
  }

  /** The next complete answer. */
  async answer(withinMs = 5_000): Promise<RawAnswer> {
    let parsed = this.take();
    while (parsed === null) {
      if (this.isClosed) throw new Error(`closed after: ${JSON.stringify(this.received)}`);
      await this.change(withinMs);
      parsed = this.take();
    }
    return parsed;
  }

  /** The interim answer to `Expect: 100-continue`. */
  async continued(withinMs = 5_000): Promise<void> {
    while (!this.received.startsWith('HTTP/1.1 100 ')) await this.change(withinMs);
  }

  /** Resolves when the other side has closed. */
  async closed(withinMs = 5_000): Promise<void> {
    while (!this.isClosed) await this.change(withinMs);
  }

  private change(withinMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`nothing within ${withinMs} ms`)), withinMs);
      this.changed = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private take(): RawAnswer | null {
    const end = this.received.indexOf('\r\n\r\n');
    if (end < 0) return null;
    const [statusLine = '', ...lines] = this.received.slice(0, end).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const status = Number(statusLine.split(' ')[1]);
    const length = Number(headers['content-length'] ?? 0);
    const bodyAt = end + 4;
    if (this.received.length < bodyAt + length) return null;
    const body = this.received.slice(bodyAt, bodyAt + length);
    this.received = this.received.slice(bodyAt + length);
    if (status === 100) return this.take();
    return { status, headers, body };
  }
}
