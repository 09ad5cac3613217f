/**
 * Whose names a request speaks about. Off (default): everything belongs to the default tenant. On: the
 * header `x-queen-tenant` (a UUID) that something trusted in front of the broker sets.
 */
import { BadRequestException } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { QueenError } from '../common/errors.js';
import { parseUuid } from '../common/uuid-v7.js';

export const TENANT_HEADER = 'x-queen-tenant';
export const DEFAULT_TENANT_TEXT = '00000000-0000-0000-0000-000000000001';
export const DEFAULT_TENANT: Uint8Array = Uint8Array.of(...new Array<number>(15).fill(0), 1);

/** The broker's own; no client may name it. */
const RESERVED_TENANT = new Uint8Array(16);

export function isReservedTenant(tenant: Uint8Array): boolean {
  return tenant.every((byte, i) => byte === RESERVED_TENANT[i]);
}

export class Tenancy {
  constructor(private readonly headerEnabled: boolean) {}

  /** The request's tenant as 16 bytes; 400 when the header is no UUID, 403 when it is reserved. */
  of(request: FastifyRequest): Uint8Array {
    if (!this.headerEnabled) return DEFAULT_TENANT;
    const header = request.headers[TENANT_HEADER];
    if (header === undefined) return DEFAULT_TENANT;
    const tenant = typeof header === 'string' ? parseUuid(header.trim()) : undefined;
    if (tenant === undefined) {
      throw new BadRequestException(`invalid ${TENANT_HEADER} header (must be a UUID)`);
    }
    if (isReservedTenant(tenant)) {
      throw new QueenError('reserved_tenant');
    }
    return tenant;
  }
}
