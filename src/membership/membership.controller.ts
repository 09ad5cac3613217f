/** Routes of the cluster's membership. Declarations only. */
import { applyDecorators, Controller, Delete, Get, HttpCode, Param } from '@nestjs/common';
import { Post, Put, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals } from '../docs-api/index.js';
import type { QueryValues } from '../http/query.js';
import * as dto from './membership.dto.js';
import { bodyOf, learnerRequest, promoteRequest } from './membership-requests.js';
import { removeRequest, votersRequest } from './membership-requests.js';
import { MembershipService } from './membership.service.js';

const TIMEOUT = {
  name: 'timeoutMs',
  required: false,
  schema: { type: 'integer' as const, minimum: 1, maximum: 120_000, default: 30_000 },
};
const FORCE = {
  name: 'force',
  required: false,
  description: '`true` or `1`; also in the body.',
  schema: { type: 'string' as const },
};
const refused = (status: number, examples: Record<string, unknown>) => ({
  ...{ status, type: dto.MembershipRefusedDto, examples },
});
const FORBIDDEN = refused(403, dto.FORBIDDEN);
const CHANGE = [
  ApiQuery(TIMEOUT),
  ApiAnswer({
    status: 200,
    description: 'Done, or nothing to do.',
    type: dto.MembershipChangedDto,
    examples: dto.CHANGED,
  }),
  ApiRefusals({
    codes: ['retry'],
    readsBody: true,
    shapes: [
      refused(400, dto.BAD_REQUEST),
      FORBIDDEN,
      refused(409, dto.CONFLICTS),
      refused(503, dto.UNREACHABLE),
      refused(504, dto.TOO_LATE),
    ],
  }),
];
const ApiChange = (): MethodDecorator => applyDecorators(...CHANGE);
const queryOf = (request: FastifyRequest): QueryValues => request.query as QueryValues;

@ApiTags('operations')
@Controller('api/v1/system/raft/membership')
export class MembershipController {
  constructor(private readonly membership: MembershipService) {}

  @Get()
  @Access('admin')
  @ApiOperation({
    summary: 'Members of the cluster',
    description: "The leader's view; another node relays it, or shows what it knows itself.",
  })
  @ApiQuery(TIMEOUT)
  @ApiAnswer({
    status: 200,
    description: 'Who belongs to the cluster, and how far each is.',
    type: dto.MembershipShownDto,
    examples: dto.SHOWN,
  })
  @ApiRefusals({ codes: ['retry'], shapes: [FORBIDDEN, refused(409, dto.CONFLICTS)] })
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.membership.show(request, reply);
  }

  @Post('learners')
  @HttpCode(200)
  @Access('admin')
  @ApiOperation({
    summary: 'Add a learner',
    description: 'Start the node first, on an empty directory with QUEEN_RAFT_JOIN=true.',
  })
  @ApiBody({
    type: dto.AddLearnerDto,
    examples: { node: { value: { id: 4, raft: 'h4:7400', http: 'h4:6632' } } },
  })
  @ApiChange()
  async addLearner(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.membership.answer(request, reply, () => learnerRequest(bodyOf(request)));
  }

  @Post('promote')
  @HttpCode(200)
  @Access('admin')
  @ApiOperation({ summary: 'Make learners voters', description: 'Several ids are one change.' })
  @ApiBody({ type: dto.PromoteDto, examples: { one: { value: { ids: [4] } } } })
  @ApiQuery(FORCE)
  @ApiChange()
  async promote(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const read = () => promoteRequest(bodyOf(request), queryOf(request));
    await this.membership.answer(request, reply, read);
  }

  @Put('voters')
  @Access('admin')
  @ApiOperation({
    summary: 'Set the voters',
    description: 'Voters left out are dropped; new ones must be learners. One joint change.',
  })
  @ApiBody({ type: dto.SetVotersDto, examples: { three: { value: { voters: [1, 2, 4] } } } })
  @ApiQuery(FORCE)
  @ApiChange()
  async setVoters(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const read = () => votersRequest(bodyOf(request), queryOf(request));
    await this.membership.answer(request, reply, read);
  }

  @Delete('members/:id')
  @Access('admin')
  @ApiOperation({
    summary: 'Remove a member',
    description:
      'Voter or learner. A leader hands leadership over first. Releases the node id from its data directory, so that the node may come back with an empty one.',
  })
  @ApiParam({ name: 'id', schema: { type: 'integer', minimum: 1 }, example: 9 })
  @ApiChange()
  async remove(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('id') id: string,
  ): Promise<void> {
    await this.membership.answer(request, reply, () => removeRequest(id));
  }
}
