/**
 * A keep-alive HTTP/1.1 connection with one request in flight, on node:net: cheap enough that the
 * load generator is not what is measured. Answers must carry Content-Length (or be 204/304).
 */
import { connect, type Socket } from 'node:net';

const CHUNK_BYTES = 256 * 1024;
const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH_NAMES = [Buffer.from('content-length: '), Buffer.from('Content-Length: ')];
/** "HTTP/1.1 " */
const STATUS_AT = 9;

/** The body is bytes[start, end); valid only during the call that brings it. */
export interface Answer {
  status: number;
  bytes: Buffer;
  start: number;
  end: number;
}

export class ConnectionLost extends Error {}

export interface TextAnswer {
  readonly status: number;
  readonly text: string;
}

export class Connection {
  /** Takes the answer of the request in flight. */
  onAnswer: (answer: Answer) => void = () => undefined;
  /** The connection ended, in flight or not; it is useless from then on. */
  onLost: (error: ConnectionLost) => void = () => undefined;
  isLost = false;
  private readonly socket: Socket;
  private readonly answer: Answer = { status: 0, bytes: Buffer.alloc(0), start: 0, end: 0 };
  /** Bytes of an answer that came in several pieces. */
  private gathered = Buffer.alloc(0);
  private gatheredBytes = 0;
  private neededBytes = 0;

  private constructor(port: number, ready: () => void, failed: (error: Error) => void) {
    this.socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(CHUNK_BYTES),
        callback: (bytes, buffer) => {
          this.take(buffer as Buffer, bytes);
          return true;
        },
      },
    });
    this.socket.once('connect', ready);
    let reason = 'closed by the server';
    this.socket.on('error', (error) => {
      reason = error.message;
      failed(error);
    });
    this.socket.on('close', () => {
      if (this.isLost) return;
      this.isLost = true;
      this.onLost(new ConnectionLost(reason));
    });
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const connection: Connection = new Connection(
        port,
        () => resolve(connection),
        (error) => reject(new ConnectionLost(error.message)),
      );
    });
  }

  /** Sends a whole request; its bytes must not change before the answer is there. */
  send(request: Uint8Array): void {
    this.socket.write(request);
  }

  /** One request as text; for everything that is not measured. */
  request(method: string, path: string, body = ''): Promise<TextAnswer> {
    return new Promise((resolve, reject) => {
      if (this.isLost) {
        reject(new ConnectionLost('closed before'));
        return;
      }
      this.onLost = reject;
      this.onAnswer = ({ status, bytes, start, end }): void =>
        resolve({ status, text: bytes.toString('utf8', start, end) });
      this.send(requestBytes(method, path, body));
    });
  }

  close(): void {
    this.isLost = true;
    this.socket.destroy();
  }

  private take(chunk: Buffer, bytes: number): void {
    if (this.gatheredBytes === 0) {
      const piece = chunk.subarray(0, bytes);
      if (this.deliver(piece)) return;
      this.keep(piece);
      return;
    }
    this.keep(chunk.subarray(0, bytes));
    if (this.gatheredBytes < this.neededBytes) return;
    const whole = this.gathered.subarray(0, this.gatheredBytes);
    this.gatheredBytes = 0;
    if (!this.deliver(whole)) this.gatheredBytes = whole.length;
  }

  private keep(piece: Buffer): void {
    const length = this.gatheredBytes + piece.length;
    if (length > this.gathered.length) {
      const grown = Buffer.allocUnsafe(
        Math.max(length, this.neededBytes, this.gathered.length * 2),
      );
      this.gathered.copy(grown, 0, 0, this.gatheredBytes);
      this.gathered = grown;
    }
    piece.copy(this.gathered, this.gatheredBytes);
    this.gatheredBytes = length;
  }

  /** False when the answer is not complete yet. */
  private deliver(bytes: Buffer): boolean {
    const headEnd = bytes.indexOf(HEAD_END);
    if (headEnd < 0) return false;
    const status =
      (digit(bytes, STATUS_AT) * 10 + digit(bytes, STATUS_AT + 1)) * 10 +
      digit(bytes, STATUS_AT + 2);
    const start = headEnd + HEAD_END.length;
    const end = start + contentLength(bytes, headEnd, status);
    if (bytes.length < end) {
      this.neededBytes = end;
      return false;
    }
    const { answer } = this;
    answer.status = status;
    answer.bytes = bytes;
    answer.start = start;
    answer.end = end;
    this.neededBytes = 0;
    this.onAnswer(answer);
    return true;
  }
}

function digit(bytes: Buffer, at: number): number {
  return (bytes[at] ?? 0x30) - 0x30;
}

function contentLength(bytes: Buffer, headEnd: number, status: number): number {
  for (const name of LENGTH_NAMES) {
    const at = bytes.indexOf(name);
    if (at < 0 || at >= headEnd) continue;
    let length = 0;
    for (let p = at + name.length; p < headEnd && bytes[p] !== 0x0d; p += 1) {
      length = length * 10 + digit(bytes, p);
    }
    return length;
  }
  if (status === 204 || status === 304) return 0;
  throw new Error(`an answer without Content-Length: ${bytes.toString('latin1', 0, headEnd)}`);
}

export function requestBytes(method: string, path: string, body = ''): Buffer {
  const bytes = Buffer.from(body);
  const head =
    `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n` +
    (bytes.length === 0 && method === 'GET'
      ? '\r\n'
      : `content-type: application/json\r\ncontent-length: ${bytes.length}\r\n\r\n`);
  return Buffer.concat([Buffer.from(head), bytes]);
}

/** Asks once over a connection of its own. */
export async function askOnce(port: number, method: string, path: string): Promise<TextAnswer> {
  const connection = await Connection.open(port);
  try {
    return await connection.request(method, path);
  } finally {
    connection.close();
  }
}
