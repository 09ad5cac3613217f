/** Routes about this node's raft state: `GET /api/v1/raft/status` and `/liveness`. Never forwarded. */
import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiQuery, ApiTags } from '@nestjs/swagger';
import { Access } from '../auth/access.js';
import { ApiAnswer } from '../docs-api/index.js';
import type { QueryValues } from '../http/query.js';
import {
  LIVENESS_EXAMPLE,
  MEMBERS_EXAMPLE,
  RaftMembersDto,
  RaftLivenessDto,
  RaftStatusDto,
  STATUS_EXAMPLE,
} from './raft-view.dto.js';
import { RaftMembersService } from './raft-members.service.js';
import { RaftViewService } from './raft-view.service.js';

const GROUP = {
  name: 'group',
  required: false,
  description: 'Raft group the answer is about; an unknown one counts as group 0.',
  schema: { type: 'integer' as const, minimum: 0, maximum: 63, default: 0 },
};

@ApiTags('operations')
@Controller('api/v1/raft')
export class RaftViewController {
  constructor(
    private readonly view: RaftViewService,
    private readonly memberBlocks: RaftMembersService,
  ) {}

  @Get('status')
  @Access('read-only')
  @ApiQuery(GROUP)
  @ApiOperation({ summary: 'This node in its cluster', description: 'Of this node; never waits.' })
  @ApiAnswer({
    status: 200,
    description: 'Always.',
    type: RaftStatusDto,
    examples: { leader: STATUS_EXAMPLE },
  })
  status(@Query() query: QueryValues): RaftStatusDto {
    return this.view.status(this.view.groupIn(query));
  }

  @Get('members')
  @Access('read-only')
  @ApiQuery(GROUP)
  @ApiOperation({
    summary: 'Every member of the cluster',
    description: 'Each is asked with a limit of 1.5 s; one that is silent stays in the list.',
  })
  @ApiAnswer({
    status: 200,
    description: 'Always; what nobody knows is null.',
    type: RaftMembersDto,
    examples: { 'one away': MEMBERS_EXAMPLE },
  })
  members(@Query() query: QueryValues): Promise<RaftMembersDto> {
    return this.memberBlocks.members(this.view.groupIn(query));
  }

  @Get('liveness')
  @Access('read-only')
  @ApiQuery(GROUP)
  @ApiOperation({
    summary: 'When the leader heard each member',
    description: "The leader's own observation; another node serves its last copy, aged.",
  })
  @ApiAnswer({
    status: 200,
    description: 'Always; no members while nothing was heard of a leader.',
    type: RaftLivenessDto,
    examples: { leader: LIVENESS_EXAMPLE },
  })
  liveness(@Query() query: QueryValues): RaftLivenessDto {
    return this.view.liveness(this.view.groupIn(query));
  }
}
