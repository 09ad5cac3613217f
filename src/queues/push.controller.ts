/** `POST /api/v1/push`. Declaration only. */
import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { PushService } from './push.service.js';

@Controller('api/v1')
export class PushController {
  constructor(private readonly pushes: PushService) {}

  @Post('push')
  @HttpCode(201)
  @RouteConfig({ growing: true })
  @Access('write-only')
  push(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.pushes.serve(request, reply);
  }
}
