/**
 * Decorators that declare the answers of a route: what it gives, and what it refuses with. Refusals are
 * named by their codes; status, Retry-After and default text come from the error table, so that the
 * document cannot disagree with the answers.
 */
import { applyDecorators, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import type { ErrorCode } from '../common/errors.js';
import { errorRule } from '../common/errors.js';
import { ErrorDto } from './error.dto.js';

type Decorator = MethodDecorator & ClassDecorator;

/** Name → body. */
export type Examples = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly status: number;
  readonly description: string;
  /** The body's class, or the alternatives; `[X]` is an array of X. */
  readonly type: Type | readonly [Type] | { readonly oneOf: readonly Type[] };
  readonly examples: Examples;
  /** Headers of some answers: name → what it says. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A JSON answer with its schema and examples. */
export function ApiAnswer(answer: Answer): Decorator {
  const { status, description, type, examples, headers } = answer;
  return applyDecorators(
    ApiExtraModels(...modelsOf(type)),
    ApiResponse({
      status,
      description,
      content: { 'application/json': { schema: schemaOf(type), examples: named(examples) } },
      ...(headers === undefined ? {} : { headers: headersOf(headers) }),
    }),
  );
}

function headersOf(texts: Readonly<Record<string, string>>): Record<string, object> {
  const named = Object.entries(texts).map(([name, description]) => {
    return [name, { description, schema: { type: 'string' } }];
  });
  return Object.fromEntries(named) as Record<string, object>;
}

/** 204: nothing, not even a length. */
export function ApiEmptyAnswer(description: string): Decorator {
  return applyDecorators(ApiResponse({ status: 204, description }));
}

export interface RefusalShape extends Omit<Answer, 'description' | 'headers'> {
  /** The answer says when to come back. */
  readonly retryAfter?: boolean;
}

export interface Refusals {
  readonly codes: readonly ErrorCode[];
  /** The route reads a body: 413 in plain text above QUEEN_MAX_BODY_BYTES. */
  readonly readsBody?: boolean;
  /** Refusals in plain text, by status. */
  readonly texts?: Readonly<Record<number, string>>;
  /** Refusals of another shape than the error envelope. */
  readonly shapes?: readonly RefusalShape[];
}

/** Codes any route may answer that asks the replicated log. */
export const LOG_CODES = ['retry', 'no_leader', 'timeout'] as const satisfies ErrorCode[];

const BODY_LIMIT_TEXT = 'the request body is larger than QUEEN_MAX_BODY_BYTES\n';
const TENANT_REFUSAL = { error: 'invalid x-queen-tenant header (must be a UUID)' };

/** All refusals of a route of a tenant; 500 and the refusal of a bad tenant header are always there. */
export function ApiRefusals(refusals: Refusals): Decorator {
  const byStatus = new Map<number, StatusRefusals>();
  const at = (status: number): StatusRefusals => {
    const known = byStatus.get(status) ?? new StatusRefusals();
    byStatus.set(status, known);
    return known;
  };
  for (const code of [...refusals.codes, 'internal' as const]) {
    const rule = errorRule(code);
    at(rule.status).addCode(code, rule.text, rule.retryAfterSeconds);
  }
  at(400).add(ErrorDto, { 'bad tenant header': TENANT_REFUSAL });
  if (refusals.readsBody === true) at(413).addText(BODY_LIMIT_TEXT);
  for (const [status, text] of Object.entries(refusals.texts ?? {}))
    at(Number(status)).addText(text);
  for (const { status, type, examples, retryAfter } of refusals.shapes ?? []) {
    for (const model of modelsOf(type)) at(status).add(model, examples);
    if (retryAfter === true) at(status).saysWhen();
  }
  return applyDecorators(...[...byStatus].map(([status, one]) => one.decorate(status)));
}

const MEANINGS: Readonly<Record<number, string>> = {
  400: 'The request is wrong; nothing was done.',
  403: 'Not allowed as things stand; a retry cannot help.',
  404: 'Not found.',
  413: 'A name or the body is too long; nothing was done.',
  429: 'The broker is under pressure; nothing was done.',
  500: 'A fault of the broker; the log has it.',
  503: 'Cannot be answered now. A write may have been applied: repeat it as it was.',
  507: 'The disk of this node is too full for growing writes; nothing was done.',
};

/** What one status of a route may carry. */
class StatusRefusals {
  private readonly models = new Set<Type>();
  private readonly examples: Record<string, unknown> = {};
  private text: string | null = null;
  private retryAfter = false;

  addCode(code: ErrorCode, text: string, retryAfterSeconds: number | undefined): void {
    this.add(ErrorDto, { [code]: { error: text, code } });
    if (retryAfterSeconds !== undefined) this.retryAfter = true;
  }

  add(model: Type, examples: Examples): void {
    this.models.add(model);
    Object.assign(this.examples, examples);
  }

  /** Retry-After is declared. */
  saysWhen(): void {
    this.retryAfter = true;
  }

  addText(text: string): void {
    this.text = text;
  }

  decorate(status: number): Decorator {
    const models = [...this.models];
    const json =
      models.length === 0
        ? {}
        : {
            'application/json': {
              schema: anyOf(models),
              examples: named(this.examples),
            },
          };
    const text =
      this.text === null
        ? {}
        : { 'text/plain': { schema: { type: 'string' }, example: this.text } };
    return applyDecorators(
      ApiExtraModels(...models),
      ApiResponse({
        status,
        description: MEANINGS[status] ?? '',
        content: { ...json, ...text },
        ...(this.retryAfter ? { headers: RETRY_AFTER } : {}),
      }),
    );
  }
}

const RETRY_AFTER = {
  'Retry-After': {
    description: 'Seconds to wait before the next try.',
    schema: { type: 'integer', minimum: 1 },
  },
};

function modelsOf(type: Answer['type']): readonly Type[] {
  if (typeof type === 'function') return [type];
  return 'oneOf' in type ? type.oneOf : type;
}

function schemaOf(type: Answer['type']): Schema {
  if (typeof type === 'function') return { $ref: getSchemaPath(type) };
  if (!('oneOf' in type)) return { type: 'array', items: { $ref: getSchemaPath(type[0]) } };
  const refs = type.oneOf.map((model) => ({ $ref: getSchemaPath(model) }));
  const [only] = refs;
  return refs.length === 1 && only !== undefined ? only : { oneOf: refs };
}

interface Ref {
  readonly $ref: string;
}
type Schema = Ref | { readonly type: 'array'; readonly items: Ref } | { readonly oneOf: Ref[] };

/** A bare `{"error"}` fits more than one envelope. */
function anyOf(models: readonly Type[]): Ref | { readonly anyOf: Ref[] } {
  const refs = models.map((model) => ({ $ref: getSchemaPath(model) }));
  const [only] = refs;
  return refs.length === 1 && only !== undefined ? only : { anyOf: refs };
}

function named(examples: Examples): Record<string, { value: unknown }> {
  return Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]));
}
