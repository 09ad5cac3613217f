/**
 * Calls to the broker. Every failure is an ApiError with what a person needs to know; an HTML answer to
 * an API call is a route this broker does not have. A token is kept in this browser only.
 */
import { ref } from 'vue';

const TOKEN_KEY = 'queen.token';

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    text: string,
    readonly retryAfter: number | null = null,
  ) {
    super(text);
  }

  /** The broker lacks the route, or hides it: nothing is wrong. */
  get isMissing(): boolean {
    return this.code === 'no_such_route' || this.code === 'route_blocked';
  }
}

/** True while the broker asks for a token. */
export const tokenWanted = ref(false);
/** False after a call that reached no broker. */
export const isReachable = ref(true);

export const hasToken = (): boolean => (localStorage.getItem(TOKEN_KEY) ?? '') !== '';

export function setToken(token: string): void {
  const bare = token.trim().replace(/^bearer\s+/i, '');
  if (bare === '') localStorage.removeItem(TOKEN_KEY);
  else localStorage.setItem(TOKEN_KEY, bare);
  tokenWanted.value = false;
}

export interface CallOptions {
  readonly body?: unknown;
  /** Statuses besides 2xx whose body is the answer. */
  readonly accept?: readonly number[];
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export async function api<T>(method: Method, path: string, options: CallOptions = {}): Promise<T> {
  return (await call<T>(method, path, options)).value;
}

/** A bare array, and whether the broker left rows out of it. */
export interface Listed<T> {
  readonly rows: readonly T[];
  readonly isCut: boolean;
}

export async function list<T>(path: string): Promise<Listed<T>> {
  const { value, response } = await call<readonly T[]>('GET', path, {});
  return { rows: value, isCut: response.headers.get('x-queen-truncated') === 'true' };
}

interface Answered<T> {
  readonly value: T;
  readonly response: Response;
}

async function call<T>(method: Method, path: string, options: CallOptions): Promise<Answered<T>> {
  const headers: Record<string, string> = { accept: 'application/json' };
  const token = localStorage.getItem(TOKEN_KEY);
  if (token !== null) headers['authorization'] = `Bearer ${token}`;
  const init: RequestInit = { method, headers };
  if (options.body !== undefined) {
    headers['content-type'] = 'application/json';
    init.body = JSON.stringify(options.body);
  }
  const response = await reach(path, init);
  const isHtml = (response.headers.get('content-type') ?? '').startsWith('text/html');
  if (isHtml) throw new ApiError(404, 'no_such_route', 'This broker does not serve it');
  const text = await response.text();
  const value = parse(text);
  const isAnswer = response.ok || options.accept?.includes(response.status) === true;
  if (isAnswer) return { value: value as T, response };
  if (response.status === 401) tokenWanted.value = true;
  throw errorOf(response, value, text);
}

export const get = <T>(path: string): Promise<T> => api<T>('GET', path);
export const post = <T>(path: string, body: unknown = {}): Promise<T> =>
  api<T>('POST', path, { body });
export const remove = <T>(path: string): Promise<T> => api<T>('DELETE', path);

async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(path, init);
    isReachable.value = true;
    return response;
  } catch {
    isReachable.value = false;
    throw new ApiError(0, 'unreachable', 'The broker cannot be reached');
  }
}

function parse(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    // Plain text: the caller shows it as it is.
    return null;
  }
}

function errorOf(response: Response, value: unknown, text: string): ApiError {
  const fields = (value ?? {}) as Record<string, unknown>;
  const named = [fields['detail'], fields['error'], fields['message']].find(
    (part) => typeof part === 'string' && part !== '',
  );
  const after = Number(response.headers.get('retry-after') ?? NaN);
  const wait = Number.isFinite(after) ? after : null;
  const hint = response.status === 429 && wait !== null ? `; again in ${wait} s` : '';
  const shown = (named as string | undefined) ?? (text.slice(0, 200) || response.statusText);
  const code = typeof fields['code'] === 'string' ? fields['code'] : `http_${response.status}`;
  return new ApiError(response.status, code, `${shown}${hint}`, wait);
}

/** `a=1&b=2`, what is empty left out, with the question mark. */
export function queryText(values: Readonly<Record<string, string | number | undefined>>): string {
  const pairs = Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

export const segment = (text: string): string => encodeURIComponent(text);
