/**
 * How the API document speaks about tokens: every route that is not public takes a bearer token and
 * answers 401 and 403, which a node gives only with JWT_ENABLED=true, and 403 for the reserved tenant.
 */
import { getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';
import { REFUSAL } from '../auth/refusal.js';
import { errorRule } from '../common/errors.js';
import { ErrorDto } from './error.dto.js';

/** Name of the security scheme. */
export const BEARER = 'token';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Answer = Exclude<Operation['responses'][string], { $ref: string } | undefined>;
type Media = NonNullable<Answer['content']>[string];

const JSON_TYPE = 'application/json';

interface Refused {
  readonly description: string;
  readonly examples: Readonly<Record<string, { readonly value: object }>>;
}

const UNAUTHENTICATED: Refused = {
  description: 'No token, or one that is not accepted; only with `JWT_ENABLED=true`.',
  examples: Object.fromEntries(
    Object.values(REFUSAL).map((error) => [error, { value: { error } }]),
  ),
};

const RESERVED = 'reserved_tenant';

const FORBIDDEN: Refused = {
  description: 'The roles of the token do not pass, or the tenant is the broker’s own.',
  examples: {
    'wrong role': { value: { error: 'Insufficient permissions' } },
    [RESERVED]: { value: { error: errorRule(RESERVED).text, code: RESERVED } },
  },
};

export function declareAuthentication(operation: Operation): void {
  operation.security = [{ [BEARER]: [] }];
  declare(operation, '401', UNAUTHENTICATED);
  declare(operation, '403', FORBIDDEN);
}

/** Adds to what the route says about the status itself. */
function declare(operation: Operation, status: string, added: Refused): void {
  const declared = operation.responses[status];
  const answer: Answer =
    declared === undefined || '$ref' in declared ? { description: added.description } : declared;
  const media: Media = answer.content?.[JSON_TYPE] ?? {};
  operation.responses[status] = {
    ...answer,
    content: {
      ...answer.content,
      [JSON_TYPE]: {
        schema: withEnvelope(media.schema),
        examples: { ...added.examples, ...media.examples },
      },
    },
  };
}

function withEnvelope(schema: Media['schema']): NonNullable<Media['schema']> {
  const envelope = { $ref: getSchemaPath(ErrorDto) };
  if (schema === undefined) return envelope;
  const known = 'oneOf' in schema && schema.oneOf !== undefined ? schema.oneOf : [schema];
  const isThere = known.some((one) => '$ref' in one && one.$ref === envelope.$ref);
  if (isThere) return schema;
  return { anyOf: [...known, envelope] };
}
