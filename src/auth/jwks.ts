/**
 * The keys of a JWKS address: fetched at boot, again every interval, and when a token names a key that
 * is not there (at most every 5 s). A set that cannot be fetched or read changes nothing: the keys that
 * are known stay. Bounded in time, in bytes and in keys; redirects are not followed.
 */
import type { KeyObject } from 'node:crypto';
import type { TargetLogger } from '../logging/index.js';
import { keysOfJwks, type JwksKey, type KeyKind } from './key-material.js';

const UNKNOWN_KID_PAUSE_MS = 5_000;
const RETRY_MS = 5_000;
const MAX_BYTES = 1024 * 1024;
const MAX_KEYS = 256;
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface JwksOptions {
  readonly url: string;
  readonly refreshMs: number;
  readonly timeoutMs: number;
  readonly log: TargetLogger;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** The set differs from the one before: what was verified with it counts no more. */
  readonly onChange: () => void;
  /** Shorter in tests. */
  readonly unknownKidPauseMs?: number;
}

class FetchFault extends Error {}

export class JwksKeys {
  private keys: readonly JwksKey[] = [];
  private text: string | null = null;
  private fetching: Promise<void> | null = null;
  private startedAt = -Infinity;
  private timer: NodeJS.Timeout | null = null;
  private readonly stop = new AbortController();

  constructor(private readonly options: JwksOptions) {}

  /** A set was read at least once. */
  get isLoaded(): boolean {
    return this.text !== null;
  }

  /** The first fetch; a broker starts without keys too, and gets them later. */
  start(): Promise<void> {
    return this.refresh();
  }

  close(): void {
    this.stop.abort();
    if (this.timer !== null) clearTimeout(this.timer);
  }

  /** The key with this id, fetched when it is not known. Without an id: the only key of the kind. */
  async find(kid: string, kind: KeyKind): Promise<KeyObject | null> {
    const known = this.pick(kid, kind);
    if (known !== null || !(await this.fetchedAgain())) return known;
    return this.pick(kid, kind);
  }

  private pick(kid: string, kind: KeyKind): KeyObject | null {
    const fitting = this.keys.filter((key) => key.kind === kind && (kid === '' || key.kid === kid));
    const [first] = fitting;
    return first !== undefined && (kid !== '' || fitting.length === 1) ? first.key : null;
  }

  /** False when the last fetch is too young to ask again. */
  private async fetchedAgain(): Promise<boolean> {
    const pause = this.options.unknownKidPauseMs ?? UNKNOWN_KID_PAUSE_MS;
    const isYoung = this.options.now() - this.startedAt < pause;
    if (this.fetching === null && isYoung) return false;
    await this.refresh();
    return true;
  }

  private refresh(): Promise<void> {
    this.fetching ??= this.fetchOnce().finally(() => {
      this.fetching = null;
    });
    return this.fetching;
  }

  private async fetchOnce(): Promise<void> {
    const { log, refreshMs } = this.options;
    this.startedAt = this.options.now();
    let isRead = false;
    try {
      this.take(await this.read());
      isRead = true;
    } catch (error) {
      if (!this.stop.signal.aborted) {
        log.warn('the JWKS cannot be fetched, the known keys stay', { error: reasonOf(error) });
      }
    }
    this.schedule(isRead ? refreshMs : Math.min(refreshMs, RETRY_MS));
  }

  private schedule(inMs: number): void {
    if (this.timer !== null) clearTimeout(this.timer);
    if (this.stop.signal.aborted) return;
    this.timer = setTimeout(() => void this.refresh(), Math.min(inMs, MAX_TIMER_MS));
    this.timer.unref();
  }

  private take(text: string): void {
    if (text === this.text) return;
    const keys = keysOfJwks(parsed(text));
    if (keys === null) throw new FetchFault('the answer is no JWKS');
    if (keys.length > MAX_KEYS) throw new FetchFault(`more than ${MAX_KEYS} keys`);
    this.text = text;
    this.keys = keys;
    this.options.onChange();
    this.options.log.info('JWKS read', { keys: keys.length });
  }

  private async read(): Promise<string> {
    const { url, timeoutMs } = this.options;
    const signal = AbortSignal.any([
      this.stop.signal,
      AbortSignal.timeout(Math.min(timeoutMs, MAX_TIMER_MS)),
    ]);
    const headers = { accept: 'application/jwk-set+json, application/json' };
    const answer = await fetch(url, { signal, redirect: 'error', headers });
    if (answer.status !== 200) {
      await answer.body?.cancel();
      throw new FetchFault(`status ${answer.status}`);
    }
    return boundedText(answer);
  }
}

async function boundedText(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = answer.body?.getReader();
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    const chunk = part.value as Uint8Array;
    size += chunk.length;
    if (size > MAX_BYTES) {
      await reader?.cancel();
      throw new FetchFault(`more than ${MAX_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Never the address: it may carry a secret. */
function reasonOf(error: unknown): string {
  if (error instanceof FetchFault) return error.message;
  if (!(error instanceof Error)) return 'unknown';
  const code = (error.cause as { readonly code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : error.name;
}
