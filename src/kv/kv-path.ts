/**
 * What a path route says as an operation (state.md §1.4): namespace and key stand in the path and
 * nowhere else, the body has the rest. And the body of a listing.
 */
import type { FastifyRequest } from 'fastify';
import { QueenError } from '../common/errors.js';
import { bodyBytes } from '../http/fastify-setup.js';
import { jsonObjectBody, type JsonObject } from '../http/json-body.js';
import { rawText, scanObject } from '../preparation/kv/kv-scan.js';
import type { RawOperation, RawValue } from '../preparation/kv/kv-scan.js';
import { badKv } from '../preparation/kv/kv-validate.js';

const IN_PATH = ['op', 'ns', 'namespace', 'key'];
const PUT_FIELDS = ['value', 'ttlSeconds', 'forever', 'expect', 'required'];
const DELETE_FIELDS = ['expect', 'required'];

export function refuseQuery(request: FastifyRequest): void {
  const query = request.url.split('?', 2)[1] ?? '';
  if (query !== '') throw badKv('kv_no_query_string', 'this route takes no query string');
}

/** The body of a listing; what is wrong with it is told in this family's envelope. */
export function listBody(request: FastifyRequest): JsonObject {
  try {
    return jsonObjectBody(request);
  } catch (error) {
    if (!(error instanceof QueenError) || error.code !== 'bad_body') throw error;
    throw badKv('kv_bad_body', error.message);
  }
}

export function getOperation(request: FastifyRequest): RawOperation {
  return operation(request, 'get', new Map());
}

export function putOperation(request: FastifyRequest): RawOperation {
  const fields = scanObject(bodyBytes(request));
  if (fields === null) throw badKv('kv_bad_body', 'the body is a JSON object');
  return operation(request, 'put', chosen(fields, PUT_FIELDS));
}

/** No body, `null`, or an object. */
export function deleteOperation(request: FastifyRequest): RawOperation {
  const body = bodyBytes(request);
  const isEmpty = body.length === 0 || /^\s*null\s*$/.test(Buffer.from(body).toString('latin1'));
  const fields = isEmpty ? new Map<string, RawValue>() : scanObject(body);
  if (fields === null) throw badKv('kv_bad_body', 'the body is empty, null or a JSON object');
  return operation(request, 'delete', chosen(fields, DELETE_FIELDS));
}

function operation(
  request: FastifyRequest,
  op: string,
  fields: Map<string, RawValue>,
): RawOperation {
  const params = request.params as { readonly ns: string; readonly '*': string };
  fields.set('op', rawText(op));
  fields.set('ns', rawText(params.ns));
  fields.set('key', rawText(params['*']));
  return fields;
}

function chosen(
  fields: ReadonlyMap<string, RawValue>,
  names: readonly string[],
): Map<string, RawValue> {
  const misplaced = IN_PATH.find((name) => fields.has(name));
  if (misplaced !== undefined) {
    throw badKv('kv_field_in_path', `${misplaced} stands in the path, not in the body`);
  }
  return new Map([...fields].filter(([name]) => names.includes(name)));
}
