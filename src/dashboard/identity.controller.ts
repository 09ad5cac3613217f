/** Who is looking at the dashboard (admin.md §1.8): `/auth/me`, `/auth/login`, `/auth/logout`. */
import { Controller, Get, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { QUEEN_CONFIG, type QueenConfig } from '../config/index.js';
import { ApiAnswer, PAGE_HEADERS } from '../docs-api/index.js';
import { sendJson } from '../http/answers.js';
import {
  AuthRequiredDto,
  HOLDER_EXAMPLE,
  LOGIN_PAGE,
  ME_EXAMPLE,
  MeDto,
  OkDto,
} from './identity.dto.js';
import { IdentityService } from './identity.service.js';

const AUTH_REQUIRED = { error: 'auth_required', code: 'auth_required' } as const;

@ApiTags('operations')
@Controller('auth')
export class IdentityController {
  constructor(
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(IdentityService) private readonly identity: IdentityService,
  ) {}

  @Get('me')
  @Access('public')
  @ApiOperation({ summary: 'Who looks at the dashboard', description: 'Of a broker of its own.' })
  @ApiAnswer({
    status: 200,
    description: 'No tokens are checked: everybody is the operator. Or whose the token is.',
    type: MeDto,
    examples: { standalone: ME_EXAMPLE, 'with a token': HOLDER_EXAMPLE },
  })
  @ApiAnswer({
    status: 401,
    description: 'Tokens are checked, and none that holds was sent: the dashboard asks for one.',
    type: AuthRequiredDto,
    examples: { always: AUTH_REQUIRED },
  })
  async me(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const me = await this.identity.of(request.headers.authorization);
    if (me === null) sendJson(reply, 401, AUTH_REQUIRED);
    else sendJson(reply, 200, me);
  }

  @Get('login')
  @Access('public')
  @ApiOperation({ summary: 'How to sign in', description: 'A page for people.' })
  @ApiResponse({ status: 303, description: 'No tokens are checked: on to the dashboard.' })
  @ApiResponse({
    status: 200,
    description: 'Tokens are checked.',
    content: {
      'text/html': { schema: { type: 'string' }, examples: { page: { value: '<!doctype html>' } } },
    },
  })
  login(@Res() reply: FastifyReply): void {
    if (!this.config.auth.enabled) {
      void reply.code(303).header('location', '/').send();
      return;
    }
    void reply.headers(PAGE_HEADERS).type('text/html; charset=utf-8').send(LOGIN_PAGE);
  }

  @Post('logout')
  @HttpCode(200)
  @Access('public')
  @ApiOperation({ summary: 'No effect', description: 'A broker keeps no sessions of people.' })
  @ApiAnswer({
    status: 200,
    description: 'Always.',
    type: OkDto,
    examples: { always: { ok: true } },
  })
  logout(): OkDto {
    return { ok: true };
  }
}
