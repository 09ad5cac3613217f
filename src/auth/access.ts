/**
 * The access level a route declares (messages.md §1.3). Levels are role sets, not a ladder: a
 * write-only token can push and nothing else. Every route must declare one; the guard reads it.
 */
import { SetMetadata } from '@nestjs/common';

export const ACCESS_LEVELS = ['public', 'read-only', 'write-only', 'read-write', 'admin'] as const;
export type AccessLevel = (typeof ACCESS_LEVELS)[number];

export const ACCESS_METADATA = 'queen:access';

export const Access = (level: AccessLevel): ReturnType<typeof SetMetadata> =>
  SetMetadata(ACCESS_METADATA, level);
