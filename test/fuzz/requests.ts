/** Requests to the routes of an API document: right ones, nearly right ones, and nonsense. */
import fc from 'fast-check';
import type { ApiDocument, Media, Operation } from '../support/api-document.js';
import { anyJson, oddBody, stringValue } from './junk.js';
import { spoiled, valueOf, type Components } from './schema-values.js';

export interface FuzzRequest {
  /** `METHOD /path/{param}` as documented. */
  readonly route: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'];
/** Long polls end early, or a run would mostly wait. */
const WAITS = /timeout|wait/i;
const MAX_WAIT_MS = 200;

export function requestsOf(document: ApiDocument): fc.Arbitrary<FuzzRequest> {
  const { schemas } = document.components;
  const all = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) =>
      requestOf({ method: method.toUpperCase(), path, operation }, schemas),
    ),
  );
  return fc.oneof(...all);
}

interface Route {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

function requestOf(route: Route, components: Components): fc.Arbitrary<FuzzRequest> {
  const { operation } = route;
  const method = fc.oneof(
    { weight: 24, arbitrary: fc.constant(route.method) },
    { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
  );
  return fc
    .record({
      method,
      path: pathOf(route, components),
      query: queryOf(operation, components),
      headers: headersOf(),
      body: bodyOf(operation, components),
    })
    .map(({ method, path, query, headers, body }) => ({
      route: `${route.method} ${route.path}`,
      method,
      path: path + query,
      headers,
      body: /^(GET|HEAD)$/.test(method) && (body?.length ?? 0) % 3 > 0 ? null : body,
    }));
}

function pathOf({ path, operation }: Route, components: Components): fc.Arbitrary<string> {
  const segments = path.split(/(\{[^}]*\}|\*)/).map((piece): fc.Arbitrary<string> => {
    if (piece === '*') return stringValue().map(encoded);
    if (!piece.startsWith('{')) return fc.constant(piece);
    const name = piece.slice(1, -1);
    const declared = operation.parameters.find((one) => one.in === 'path' && one.name === name);
    const value = valueOf(declared?.schema ?? {}, components).map((one) => String(one));
    return fc.oneof(
      { weight: 3, arbitrary: value.map(encoded) },
      { weight: 2, arbitrary: stringValue().map(encoded) },
      { weight: 1, arbitrary: fc.constantFrom('%', '%zz', '%ff', '%c3%28', 'a%2Fb', '', '.') },
    );
  });
  return fc.tuple(...segments).map((pieces) => pieces.join(''));
}

function queryOf({ parameters }: Operation, components: Components): fc.Arbitrary<string> {
  const declared = parameters.filter((one) => one.in === 'query');
  const pairs = declared.map(({ name, schema }) =>
    fc
      .oneof(
        { weight: 4, arbitrary: valueOf(schema, components).map((one) => String(one)) },
        { weight: 1, arbitrary: stringValue() },
      )
      .map((value) => `${encoded(name)}=${encoded(boundWait(name, value))}`),
  );
  const odd = fc.constantFrom('=', '&', '%', 'a', '__proto__=1', 'a[]=1', 'x=%zz', '?');
  const all = [...pairs, odd, odd];
  return fc
    .shuffledSubarray(all.map((_, i) => i))
    .chain((picked) => fc.tuple(...picked.map((i) => all[i] ?? odd)))
    .map((texts) => (texts.length === 0 ? '' : `?${texts.join('&')}`));
}

function boundWait(name: string, value: string): string {
  return WAITS.test(name) && Number(value) > MAX_WAIT_MS ? String(MAX_WAIT_MS) : value;
}

function headersOf(): fc.Arbitrary<Record<string, string>> {
  const some = (header: string, ...values: string[]): fc.Arbitrary<Record<string, string>> =>
    fc.constantFrom(...values).map((value) => ({ [header]: value }));
  return fc.oneof(
    { weight: 8, arbitrary: fc.constant({}) },
    {
      weight: 1,
      arbitrary: some('content-type', 'application/json', 'text/plain', '\u00ff', ';;'),
    },
    { weight: 1, arbitrary: some('x-queen-tenant', 'x', '00000000-0000-0000-0000-000000000009') },
    { weight: 1, arbitrary: some('authorization', 'Bearer x', '', 'Basic \u00e9') },
    { weight: 1, arbitrary: some('accept-encoding', 'gzip', '*;q=x') },
    { weight: 1, arbitrary: some('transfer-encoding', 'chunked') },
  );
}

function bodyOf(operation: Operation, components: Components): fc.Arbitrary<Buffer | null> {
  const media = operation.requestBody?.content['application/json'];
  const odd = fc.oneof(oddBody(), anyJson().map(jsonOf));
  if (media === undefined) {
    return fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: odd });
  }
  const right = rightBody(media, components);
  return fc.oneof(
    { weight: 5, arbitrary: right.map(jsonOf) },
    { weight: 4, arbitrary: right.chain(spoiled).map(jsonOf) },
    { weight: 2, arbitrary: right.chain(spoiled).chain(spoiled).map(jsonOf) },
    { weight: 1, arbitrary: odd },
    { weight: 1, arbitrary: fc.constant(null) },
  );
}

function rightBody(media: Media, components: Components): fc.Arbitrary<unknown> {
  const examples = Object.values(media.examples ?? {}).map(({ value }) => value);
  const made = valueOf(media.schema, components);
  return examples.length === 0 ? made : fc.oneof(made, fc.constantFrom(...examples));
}

function jsonOf(value: unknown): Buffer {
  const bounded = (key: string, inner: unknown): unknown =>
    WAITS.test(key) && typeof inner === 'number' && inner > MAX_WAIT_MS ? MAX_WAIT_MS : inner;
  return Buffer.from(JSON.stringify(value, bounded) ?? '');
}

/** Lone surrogates become U+FFFD, as every client would send them. */
const encoded = (text: string): string =>
  encodeURIComponent(Buffer.from(text).toString()).replaceAll("'", '%27');
