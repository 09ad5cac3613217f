/**
 * Reads request bodies as bytes, whatever their Content-Type. Bounded: a body over the limit is read
 * to its end without being kept (a socket closed under unread data would lose the answer), one that is
 * far over it is not read at all. A chunked body asks admission for every byte it brings.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Permit } from './admission.js';
import type { BodyPace, PacedBody } from './body-pace.js';
import { BodyPool, releaseBody } from './body-pool.js';

/** A refused body is read on for this many times the limit, then the connection just ends. */
const MAX_DISCARD_FACTOR = 4;

const SMALL_BODY_BYTES = 64 * 1024;

export class BodyTooLargeError extends Error {
  readonly statusCode = 413;
}

/** The body ended early or differs from its Content-Length. */
export class BodyLengthError extends Error {
  readonly statusCode = 400;
}

/** Refused while it arrives; the connection ends with the answer. */
export class SlowBodyError extends Error {
  readonly statusCode = 408;

  constructor() {
    super('the request body arrives too slowly');
  }
}

export interface BodyRules {
  readonly maxBytes: number;
  readonly pace: BodyPace;
  /** Permit of a request whose size was not announced. */
  permitOf(request: FastifyRequest): Permit | undefined;
  /** The refusal when such a request outgrows the budget. */
  overloaded(): Error;
}

export type BodyDone = (error: Error | null, body?: Buffer) => void;

/** A Fastify content type parser. */
export function bodyParser(
  rules: BodyRules,
): (request: FastifyRequest, payload: IncomingMessage, done: BodyDone) => void {
  const pool = new BodyPool();
  return (request, payload, done) => new BodyRead({ rules, pool, request, done }).run(payload);
}

interface BodyReadParts {
  readonly rules: BodyRules;
  readonly pool: BodyPool;
  readonly request: FastifyRequest;
  readonly done: BodyDone;
}

class BodyRead implements PacedBody {
  private readonly announced: number;
  private readonly permit: Permit | undefined;
  private readonly rules: BodyRules;
  private chunks: Buffer[] = [];
  /** Where the pieces of a body of announced length go. */
  private memory: Buffer | undefined = undefined;
  private received = 0;
  private refusal: Error | null = null;
  private isDone = false;

  constructor(private readonly parts: BodyReadParts) {
    const { rules, request } = parts;
    this.rules = rules;
    const length = request.headers['content-length'];
    this.announced = length === undefined ? -1 : Number(length);
    this.permit = length === undefined ? rules.permitOf(request) : undefined;
  }

  get receivedBytes(): number {
    return this.received;
  }

  get announcedBytes(): number {
    return this.announced;
  }

  tooSlow(): void {
    this.refusal ??= new SlowBodyError();
    this.finish();
  }

  run(payload: IncomingMessage): void {
    const { maxBytes, pace } = this.rules;
    if (this.announced > maxBytes) {
      this.refusal = new BodyTooLargeError();
      if (this.announced > maxBytes * MAX_DISCARD_FACTOR) {
        this.finish();
        return;
      }
    }
    // A small body holds next to nothing while it stalls, and ends with the time of its request.
    if (this.announced < 0 || this.announced > SMALL_BODY_BYTES) pace.begin(this);
    payload.on('data', (chunk: Buffer) => this.take(chunk));
    payload.on('end', () => this.end());
    payload.on('error', () => this.fail());
  }

  private take(chunk: Buffer): void {
    if (this.isDone) return;
    this.received += chunk.length;
    if (this.refusal === null) this.judge(chunk);
    if (this.refusal === null) {
      this.keep(chunk);
      return;
    }
    this.drop();
    if (this.received > this.rules.maxBytes * MAX_DISCARD_FACTOR) this.finish();
  }

  /** A body in one piece is that piece; one in several pieces is gathered as they come. */
  private keep(chunk: Buffer): void {
    const before = this.received - chunk.length;
    if (before === 0 && this.announced > chunk.length) {
      this.memory = this.parts.pool.take(this.announced);
    }
    // More than announced is refused in the end.
    if (this.memory === undefined) this.chunks.push(chunk);
    else if (this.received <= this.announced) chunk.copy(this.memory, before);
  }

  private drop(): void {
    this.chunks = [];
    if (this.memory !== undefined) releaseBody(this.memory);
    this.memory = undefined;
  }

  private judge(chunk: Buffer): void {
    if (this.received > this.rules.maxBytes) this.refusal = new BodyTooLargeError();
    else if (this.permit?.grow(chunk.length) === false) this.refusal = this.rules.overloaded();
  }

  private end(): void {
    if (this.refusal === null && this.announced >= 0 && this.announced !== this.received) {
      this.refusal = new BodyLengthError('the body does not have its Content-Length');
    }
    this.finish();
  }

  private fail(): void {
    this.refusal ??= new BodyLengthError('the body ended early');
    this.finish();
  }

  private finish(): void {
    if (this.isDone) return;
    this.isDone = true;
    this.rules.pace.end(this);
    const { chunks, refusal, memory } = this;
    const { done } = this.parts;
    if (refusal !== null) {
      this.drop();
      done(refusal);
      return;
    }
    this.chunks = [];
    const [only] = chunks;
    if (memory !== undefined) done(null, memory);
    else done(null, chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks));
  }
}
