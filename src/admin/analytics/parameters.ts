/** Decorators of the analytics: their query parameters, and the refusals of a time or a grouping. */
import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { ApiAnswer } from '../../docs-api/index.js';
import { PlainErrorDto } from './series.dto.js';

type Decorator = MethodDecorator & ClassDecorator;

const BAD_TIME = { error: 'invalid input syntax for type timestamp with time zone: "soon"' };

/** Text parameters that a route reads; all optional. */
export function ApiTexts(texts: Readonly<Record<string, string>>): Decorator {
  const queries = Object.entries(texts).map(([name, description]) =>
    ApiQuery({ name, required: false, description, schema: { type: 'string' } }),
  );
  return applyDecorators(...queries);
}

export function ApiLimit(fallback: number, maximum: number): Decorator {
  const schema = { type: 'integer', default: fallback, minimum: 1, maximum };
  return applyDecorators(ApiQuery({ name: 'limit', required: false, schema }));
}

/** `from` and `to`, the last hour by default, both ends included. */
export function ApiWindow(): Decorator {
  return applyDecorators(
    ApiTexts({ from: 'ISO-8601; one hour ago.', to: 'ISO-8601; now.' }),
    ApiAnswer({
      status: 500,
      description: 'A time that cannot be read.',
      type: PlainErrorDto,
      examples: { 'bad time': BAD_TIME },
    }),
  );
}

export function ApiPlainRefusal(error: string): Decorator {
  return applyDecorators(
    ApiAnswer({
      status: 400,
      description: 'The request is wrong.',
      type: PlainErrorDto,
      examples: { [error]: { error } },
    }),
  );
}
