/** `GET /status` and `POST /api/v1/stats/refresh` (admin.md §1.1): fixed answers that clients call. */
import { Controller, Get, HttpCode, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Access } from '../auth/access.js';
import { ApiAnswer } from '../docs-api/index.js';
import { RefreshedDto, StatusDto } from './status.dto.js';

const STATUS: StatusDto = { status: 'ok', engine: 'raft' };
const REFRESHED: RefreshedDto = { success: true, refreshed: false, engine: 'raft' };

@ApiTags('operations')
@Controller()
export class StatusController {
  @Get('status')
  @Access('read-only')
  @ApiOperation({ summary: 'Answers while the process lives', description: 'For older clients.' })
  @ApiAnswer({ status: 200, description: 'Always.', type: StatusDto, examples: { always: STATUS } })
  status(): StatusDto {
    return STATUS;
  }

  /** Figures are always current here; nothing is refreshed. */
  @Post('api/v1/stats/refresh')
  @HttpCode(200)
  @Access('admin')
  @ApiOperation({ summary: 'No effect', description: 'Figures are always current here.' })
  @ApiAnswer({
    status: 200,
    description: 'Always.',
    type: RefreshedDto,
    examples: { always: REFRESHED },
  })
  refresh(): RefreshedDto {
    return REFRESHED;
  }
}
