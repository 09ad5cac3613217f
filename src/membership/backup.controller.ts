/**
 * `GET /api/v1/system/backup`: the state of one raft group of this node as a stream. Declarations, and
 * the one call.
 */
import { Readable } from 'node:stream';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiQuery, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiRefusals } from '../docs-api/index.js';
import { sendJson } from '../http/answers.js';
import { textOrUndefined, type QueryValues } from '../http/query.js';
import { Groups } from '../raft/index.js';
import { DEFAULT_TENANT, Tenancy } from '../tenancy/tenant.js';
import { FORBIDDEN, NO_GROUP, MembershipRefusedDto } from './membership.dto.js';

@ApiTags('operations')
@Controller('api/v1/system/backup')
export class BackupController {
  constructor(
    private readonly groups: Groups,
    private readonly tenancy: Tenancy,
  ) {}

  @Get()
  @Access('admin')
  @ApiOperation({
    summary: 'Backup of this node',
    description:
      'Its applied state at this moment, while it serves: read it with `queen backup --to DIR`. Holds every tenant; any node of a cluster will do.',
  })
  @ApiQuery({
    name: 'group',
    required: false,
    description: 'Raft group; with several each is read on its own.',
    schema: { type: 'integer', minimum: 0, maximum: 63, default: 0 },
  })
  @ApiResponse({
    status: 200,
    description: 'A header, the files, and a SHA-256 behind them.',
    content: { 'application/octet-stream': { schema: { type: 'string' }, example: 'QSNP…' } },
  })
  @ApiRefusals({
    codes: [],
    shapes: [
      { status: 400, type: MembershipRefusedDto, examples: NO_GROUP },
      { status: 403, type: MembershipRefusedDto, examples: FORBIDDEN },
    ],
  })
  async backup(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (!this.tenancy.of(request).every((byte, i) => byte === DEFAULT_TENANT[i])) {
      const error = 'a backup holds every tenant';
      return sendJson(reply, 403, { ok: false, code: 'forbidden', error });
    }
    const id = textOrUndefined(request.query as QueryValues, 'group') ?? '0';
    // A backup of another group than the one that was meant is worse than none.
    const backup = /^\d{1,2}$/.test(id) ? await this.groups.backup(Number(id)) : null;
    if (backup === null) {
      const error = `there is no raft group ${id.slice(0, 64)}`;
      return sendJson(reply, 400, { ok: false, code: 'bad_request', error });
    }
    const body = Readable.from(backup.bytes(), { objectMode: false });
    body.once('close', () => {
      void backup.release();
    });
    await reply.header('content-type', 'application/octet-stream').send(body);
  }
}
