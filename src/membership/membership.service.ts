/**
 * Asks the raft groups for their membership and changes it, group after group, and turns what they say
 * into HTTP answers (cluster.md §4). Requests of another tenant than the default one are turned away.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { QueenError } from '../common/errors.js';
import type { GroupId } from '../common/ids.js';
import { formatHostPort, parseHostPort } from '../config/addresses.js';
import { monotonicMs, QUEEN_CONFIG, type QueenConfig } from '../config/index.js';
import { sendJson } from '../http/answers.js';
import type { QueryValues } from '../http/query.js';
import { Groups } from '../raft/index.js';
import type { MembershipAnswer, MembershipRefusal, MembershipRequest } from '../raft/index.js';
import { DEFAULT_TENANT, Tenancy } from '../tenancy/tenant.js';
import { mayManageMembers } from './local-caller.js';
import { MembershipBodyError, timeoutOf } from './membership-requests.js';

const REFUSED = 409;
const NOT_FROM_AFAR =
  'while JWT_ENABLED is off the membership is open to the loopback and to holders of the raft token';
const STATUS: Partial<Record<MembershipRefusal, number>> = {
  bad_request: 400,
  timeout: 504,
  leader_unreachable: 503,
};

@Injectable()
export class MembershipService {
  constructor(
    private readonly groups: Groups,
    private readonly tenancy: Tenancy,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
  ) {}

  async show(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await this.answer(request, reply, () => ({ kind: 'read' }));
  }

  /** `read` takes the request apart; it may throw MembershipBodyError. */
  async answer(
    request: FastifyRequest,
    reply: FastifyReply,
    read: () => MembershipRequest,
  ): Promise<void> {
    if (!this.isDefaultTenant(request)) {
      const error = 'the membership belongs to the whole cluster, not to a tenant';
      return sendJson(reply, 403, { ok: false, code: 'forbidden', error });
    }
    if (!mayManageMembers(request, this.config.raft.token)) {
      return sendJson(reply, 403, { ok: false, code: 'forbidden', error: NOT_FROM_AFAR });
    }
    let asked: MembershipRequest;
    try {
      asked = read();
    } catch (error) {
      if (!(error instanceof MembershipBodyError)) throw error;
      return sendJson(reply, 400, { ok: false, code: 'bad_request', error: error.message });
    }
    const answer = await this.carryOut(asked, timeoutOf(request.query as QueryValues));
    if (!answer.ok) return refuse(reply, answer);
    const { membership } = answer;
    sendJson(reply, 200, asked.kind === 'read' ? { engine: 'raft', membership } : answer);
  }

  /**
   * Every group in order, within the time given; the first refusal ends it, and the same request again
   * goes on where it ended, for what is done already stays so. The answer is that of group 0.
   */
  private async carryOut(asked: MembershipRequest, timeoutMs: number): Promise<MembershipAnswer> {
    let first: MembershipAnswer | null = null;
    const untilMs = monotonicMs() + timeoutMs;
    for (const { id, cluster } of this.groups.all()) {
      if (cluster === undefined) {
        const error = 'this node was started without the raft protocol (QUEEN_RAFT_REPLICATOR)';
        return { ok: false, code: 'unsupported', error };
      }
      const leftMs = Math.max(1, Math.round(untilMs - monotonicMs()));
      const answer = await cluster.membership.request(requestOf(asked, id), leftMs);
      first ??= answer;
      if (!answer.ok) return id === 0 ? answer : inGroup(answer, id);
      if (asked.kind === 'read') return answer;
    }
    if (first === null) throw new Error('a process has at least one raft group');
    return first;
  }

  private isDefaultTenant(request: FastifyRequest): boolean {
    const tenant = this.tenancy.of(request);
    return tenant.every((byte, i) => byte === DEFAULT_TENANT[i]);
  }
}

/** Group N reaches every member at its raft port + N (cluster.md §5). */
function requestOf(asked: MembershipRequest, id: GroupId): MembershipRequest {
  const place = asked.kind === 'add-learner' && id > 0 ? parseHostPort(asked.raft) : null;
  if (asked.kind !== 'add-learner' || place === null) return asked;
  return { ...asked, raft: formatHostPort({ host: place.host, port: place.port + id }) };
}

function inGroup(
  { code, error }: MembershipAnswer & { readonly ok: false },
  id: GroupId,
): MembershipAnswer {
  return { ok: false, code, error: `in raft group ${id}: ${error}` };
}

function refuse(reply: FastifyReply, answer: MembershipAnswer & { readonly ok: false }): void {
  if (answer.code === 'no_leader') throw new QueenError('retry', answer.error);
  sendJson(reply, STATUS[answer.code] ?? REFUSED, answer);
}
