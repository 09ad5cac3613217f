/** The dashboard: static files of the build in `web`, and who is looking at it. */
import { Inject, Module, type NestModule } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { PageFallback } from '../http/page-fallback.js';
import { findBuild, sendDocument, serveDashboard } from './dashboard-files.js';
import { IdentityController } from './identity.controller.js';
import { IdentityService } from './identity.service.js';

@Module({ controllers: [IdentityController], providers: [IdentityService] })
export class DashboardModule implements NestModule {
  constructor(
    @Inject(HttpAdapterHost) private readonly http: HttpAdapterHost,
    @Inject(PageFallback) private readonly fallback: PageFallback,
  ) {}

  /** Called before the routes are registered. */
  configure(): void {
    const root = findBuild();
    if (root === null) return;
    const document = serveDashboard(this.http.httpAdapter.getInstance<FastifyInstance>(), root);
    this.fallback.use((reply) => void sendDocument(reply, document));
  }
}
