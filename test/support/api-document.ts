/**
 * The API document as a judge: holds answers against what it declares, strictly. An answer's field that
 * no schema names is an error here, although clients would ignore it.
 */
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { HttpAnswer } from './broker.js';

export interface Media {
  readonly schema: object;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface DeclaredAnswer {
  readonly description: string;
  readonly content?: Readonly<Record<string, Media>>;
  readonly headers?: object;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, DeclaredAnswer>>;
}

export interface ApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

export interface NamedOperation {
  /** `GET /api/v1/pop`. */
  readonly route: string;
  readonly operation: Operation;
}

export class DocumentJudge {
  private readonly ajv = new Ajv({ strict: false, allErrors: true });
  private readonly compiled = new Map<object, ValidateFunction>();

  constructor(readonly document: ApiDocument) {
    addFormats.default(this.ajv);
    const components = closed(document.components) as object;
    this.ajv.addSchema({ $id: 'api', components });
  }

  operations(): NamedOperation[] {
    return Object.entries(this.document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        route: `${method.toUpperCase()} ${path}`,
        operation,
      })),
    );
  }

  operation(route: string): Operation {
    const found = this.operations().find((one) => one.route === route);
    if (found === undefined) throw new Error(`${route} is not in the document`);
    return found.operation;
  }

  /** What is wrong with a value under a schema of the document; empty when nothing is. */
  faults(schema: object, value: unknown): string[] {
    let validate = this.compiled.get(schema);
    if (validate === undefined) {
      validate = this.ajv.compile(withBase(closed(schema)) as object);
      this.compiled.set(schema, validate);
    }
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) =>
        `${instancePath} ${message ?? ''} ${JSON.stringify(params)}`,
    );
  }

  /** What is wrong with an answer of the route. */
  answerFaults(route: string, answer: HttpAnswer): string[] {
    const declared = this.operation(route).responses[answer.status];
    if (declared === undefined) return [`${answer.status} is not declared: ${answer.text}`];
    if (declared.content === undefined) {
      return answer.text === '' ? [] : ['has a body, none is declared'];
    }
    const type = answer.headers.get('content-type')?.split(';', 1)[0] ?? 'none';
    const media = declared.content[type];
    if (media === undefined) return [`${type} is not declared for ${answer.status}`];
    const value = type === 'application/json' ? (answer.json as unknown) : answer.text;
    return this.faults(media.schema, value);
  }
}

/** The schema with every object closed that names its properties. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (node === null || typeof node !== 'object') return node;
  const copy = Object.fromEntries(
    Object.entries(node)
      .filter(([name]) => name !== 'example')
      .map(([name, value]) => [name, closed(value)]),
  );
  const isOpen = 'properties' in copy && typeof copy['properties'] === 'object';
  return isOpen && copy['type'] === 'object' && !('additionalProperties' in copy)
    ? { ...copy, additionalProperties: false }
    : copy;
}

/** References inside the document, as references into what was added as `api`. */
function withBase(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withBase);
  if (node === null || typeof node !== 'object') return node;
  return Object.fromEntries(
    Object.entries(node).map(([name, value]) =>
      name === '$ref' ? [name, `api${String(value)}`] : [name, withBase(value)],
    ),
  );
}
