/** Schemas that several routes share: any JSON, and the kinds of text this API has. */
import type { ApiPropertyOptions } from '@nestjs/swagger';

/** A property that may hold any JSON value, null included. */
export const ANY_JSON = {
  anyOf: [
    { type: 'object', nullable: true, additionalProperties: true },
    { type: 'array', items: {} },
    { type: 'string' },
    { type: 'number' },
    { type: 'boolean' },
  ],
} satisfies ApiPropertyOptions;

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

/** Lowercase, hyphenated. */
export const UUID_TEXT = { type: 'string', pattern: `^${UUID}$` } as const;

/** A lease id, or nothing where there is no lease. */
export const LEASE_TEXT = { type: 'string', pattern: `^(${UUID})?$` } as const;

/** The cluster-wide number of a partition: a decimal string, never a JSON number. */
export const PARTITION_NUMBER = { type: 'string', pattern: '^[0-9]+$' } as const;

/** UTC with six fractional digits. */
export const TIMESTAMP = {
  type: 'string',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{6}Z$',
  example: '2026-03-04T05:06:07.123456Z',
} as const;

/** A number that counts something. */
export const COUNT = { type: 'integer', minimum: 0 } as const;
