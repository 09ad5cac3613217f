/**
 * What an answer must never be: a fault (500), a 5xx whose code the error table does not know, a status
 * the document does not declare, text that tells of the inside, JSON that is none.
 */
import { errorRule, isErrorCode } from '../../src/common/errors.js';
import type { ApiDocument } from '../support/api-document.js';
import type { FuzzRequest } from './requests.js';

export interface FuzzAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** Answers any request may get, whatever its route declares. */
const ALWAYS = new Set([400, 404, 405, 413, 429, 503, 507]);
const INSIDE = /node_modules|\.(ts|js):\d+|\bat (Object|async|new|process)\b|\/src\//;

/** What is wrong, in few words that are the same for the same fault; null when nothing is. */
export function faultOf(
  document: ApiDocument,
  request: FuzzRequest,
  answer: FuzzAnswer,
): string | null {
  const { status, type, text } = answer;
  if (status === 500 && isDocumented(request, text)) return null;
  // Without a body only the status can be told.
  if (request.method === 'HEAD' && (status === 503 || status === 507)) return null;
  if (status >= 500) return serverFault(answer);
  if (INSIDE.test(text) && !type.startsWith('text/plain')) return 'tells of the inside';
  if (type.startsWith('application/json') && request.method !== 'HEAD' && !isJson(text)) {
    return `${status} with a body that is no JSON`;
  }
  const [method = '', path = ''] = request.route.split(' ');
  if (request.method !== method || ALWAYS.has(status)) return null;
  const operation = document.paths[path]?.[method.toLowerCase()];
  return operation?.responses[status] === undefined ? `${status} is not declared` : null;
}

/** The one 500 of the contract: an instant or a number of the metric routes that is none. */
const isDocumented = ({ route, method, path }: FuzzRequest, text: string): boolean =>
  /^GET \/api\/v1\/(status|analytics)/.test(route) &&
  (method === 'HEAD'
    ? path.includes('?')
    : text.startsWith('{"error":"invalid input syntax for type '));

function serverFault({ status, text }: FuzzAnswer): string | null {
  const code = codeOf(text);
  if (status === 500 || code === null || !isErrorCode(code)) return `${status} ${code ?? ''}`;
  return errorRule(code).status === status ? null : `${status} with the code ${code}`;
}

/** `code` of the engine's envelope, `error` of the state plane's. */
function codeOf(text: string): string | null {
  try {
    const { code, error } = JSON.parse(text) as {
      readonly code?: unknown;
      readonly error?: unknown;
    };
    if (typeof code === 'string') return code;
    return typeof error === 'string' ? error : null;
  } catch {
    return null;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
