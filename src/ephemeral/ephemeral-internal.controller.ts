/** Paths that nodes of other builds use among themselves; refused here for everybody. Declarations only. */
import { Controller, Get, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Access } from '../auth/access.js';
import { QueenError } from '../common/errors.js';
import { ApiRefusals } from '../docs-api/index.js';

const INTERNAL = {
  summary: 'Refused: nodes hand partitions over on the raft port',
  description: 'The path is kept so that nothing else can ever be served there.',
};

@ApiTags('operations')
@Controller('api/v1/ephemeral')
export class EphemeralInternalController {
  @Post('_adopt')
  @Access('read-write')
  @ApiOperation(INTERNAL)
  @ApiRefusals({ codes: ['internal_only'], readsBody: true })
  adopt(): never {
    throw new QueenError('internal_only');
  }

  @Post('_leaving')
  @Access('read-write')
  @ApiOperation(INTERNAL)
  @ApiRefusals({ codes: ['internal_only'], readsBody: true })
  leaving(): never {
    throw new QueenError('internal_only');
  }

  @Get('_ready')
  @Access('read-write')
  @ApiOperation(INTERNAL)
  @ApiRefusals({ codes: ['internal_only'] })
  ready(): never {
    throw new QueenError('internal_only');
  }
}
