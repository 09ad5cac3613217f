/** Extends leases (messages.md §7): every live lease of the id, never shorter than it was. */
import { Inject, Injectable } from '@nestjs/common';
import { QueenError } from '../common/errors.js';
import { timestampText } from '../common/timestamp.js';
import { isValidUtf8, readUtf8 } from '../common/utf8.js';
import { parseUuid } from '../common/uuid-v7.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import { CommandKind } from '../machine/commands/catalogue.js';
import { encodeExtend } from '../machine/commands/index.js';
import { Groups } from '../raft/index.js';

const DEFAULT_SECONDS = 60;
const MAX_SECONDS = 0x7fff_ffff;

@Injectable()
export class LeaseService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
  ) {}

  async extend(tenant: Uint8Array, leaseId: string, body: Uint8Array): Promise<unknown> {
    const id = parseUuid(leaseId);
    if (id === undefined) return answer(leaseId, 0, 0);
    const bytes = encodeExtend(tenant, { leaseId: id, seconds: secondsOf(body) });
    const deadlineMs = deadlineAfter(this.config.server.stmtTimeoutMs);
    const outcome = await this.groups.ofTenant(tenant).submit({ bytes }, { deadlineMs });
    if (outcome.kind !== CommandKind.Extend) throw new QueenError('retry');
    return answer(leaseId, outcome.renewed, outcome.earliestExpiry);
  }
}

/** Empty, unparsable or without the field: 60; never below 1. */
function secondsOf(body: Uint8Array): number {
  if (body.length === 0 || !isValidUtf8(body, 0, body.length)) return DEFAULT_SECONDS;
  let parsed: unknown;
  try {
    parsed = JSON.parse(readUtf8(body, 0, body.length));
  } catch (error) {
    if (error instanceof SyntaxError) return DEFAULT_SECONDS;
    throw error;
  }
  const seconds = (parsed as { seconds?: unknown } | null)?.seconds;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds)) return DEFAULT_SECONDS;
  return Math.min(Math.max(Math.trunc(seconds), 1), MAX_SECONDS);
}

function answer(leaseId: string, renewed: number, expiry: number): unknown {
  const at = renewed > 0 ? timestampText(expiry) : null;
  return {
    leaseId,
    success: renewed > 0,
    renewed,
    newExpiresAt: at,
    expiresAt: at,
    lease_expires_at: at,
  };
}
