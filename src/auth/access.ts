/**
 * The access level a route declares (messages.md §1.3), and the roles that pass it. Levels are role
 * sets, not a ladder: a write-only token can push and nothing else. Every route must declare a level;
 * the guard reads it.
 */
import { SetMetadata } from '@nestjs/common';

export const ACCESS_LEVELS = ['public', 'read-only', 'write-only', 'read-write', 'admin'] as const;
export type AccessLevel = (typeof ACCESS_LEVELS)[number];

export const ACCESS_METADATA = 'queen:access';

export const Access = (level: AccessLevel): ReturnType<typeof SetMetadata> =>
  SetMetadata(ACCESS_METADATA, level);

/** Roles of a token, one bit each. */
export const ROLE = { admin: 1, readWrite: 2, readOnly: 4, writeOnly: 8 } as const;
export type RoleSet = number;

const PASSING: Readonly<Record<Exclude<AccessLevel, 'public'>, RoleSet>> = {
  'read-only': ROLE.readOnly | ROLE.readWrite | ROLE.admin,
  'write-only': ROLE.writeOnly | ROLE.readWrite | ROLE.admin,
  'read-write': ROLE.readWrite | ROLE.admin,
  admin: ROLE.admin,
};

export function passes(level: AccessLevel, roles: RoleSet): boolean {
  return level === 'public' || (PASSING[level] & roles) !== 0;
}

const NAMES: readonly (readonly [RoleSet, string])[] = [
  [ROLE.admin, 'admin'],
  [ROLE.readWrite, 'read-write'],
  [ROLE.readOnly, 'read-only'],
  [ROLE.writeOnly, 'write-only'],
];

/** Names of the roles in a set, the strongest first. */
export const roleTexts = (roles: RoleSet): readonly string[] =>
  NAMES.filter(([bit]) => (roles & bit) !== 0).map(([, name]) => name);
