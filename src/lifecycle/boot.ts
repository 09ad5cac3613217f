/**
 * Builds the application from a configuration: Fastify with its hooks, then the Nest modules. The HTTP
 * port is bound by the caller only after this resolved: an open port means the boot is finished.
 */
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import type { Server as TlsServer } from 'node:https';
import { AppModule } from '../app.module.js';
import { attachAuth } from '../auth/auth-hook.js';
import { buildAuth } from '../auth/build.js';
import { publishAccessLevels } from '../auth/route-levels.js';
import type { QueenConfig } from '../config/index.js';
import { setUpDocs } from '../docs-api/setup.js';
import { Admission } from '../http/admission.js';
import { attachHooks, createAdapter } from '../http/fastify-setup.js';
import { KnownRoutes } from '../http/known-routes.js';
import { boundServer } from '../http/server-bounds.js';
import { TlsFiles } from '../http/tls-files.js';
import type { Logger } from '../logging/index.js';
import { NestLogger } from '../logging/index.js';

function openTls({ security }: QueenConfig, logger: Logger): TlsFiles | null {
  const { tlsCert: certPath, tlsKey: keyPath } = security;
  if (certPath === null || keyPath === null) return null;
  return TlsFiles.open({ certPath, keyPath }, logger.child('http'));
}

function keepTls(tls: TlsFiles, fastify: FastifyInstance): void {
  // The instance was made with the pair, so its server is one of TLS.
  tls.watch(fastify.server as unknown as TlsServer);
  fastify.addHook('onClose', (_instance, done) => {
    tls.close();
    done();
  });
}

export async function createApp(
  config: QueenConfig,
  logger: Logger,
): Promise<NestFastifyApplication> {
  const routes = new KnownRoutes();
  const admission = new Admission({
    maxBytes: config.planner.admitMaxBytes,
    holdMs: config.planner.admitHoldMs,
    random: Math.random,
  });
  const { maxBodyBytes, minBodyRate, maxConnections } = config.server;
  const tls = openTls(config, logger);
  const adapter = createAdapter({ maxBodyBytes, tls: tls?.pair ?? null });
  const auth = await buildAuth(config.auth, logger.child('auth'));
  const fastify = adapter.getInstance<FastifyInstance>();
  attachAuth(fastify, auth);
  attachHooks(fastify, { routes, admission, maxBodyBytes, minBodyRate });
  boundServer(fastify.server, maxConnections, logger.child('http'));
  if (tls !== null) keepTls(tls, fastify);
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot({ config, logger, http: { routes, admission }, auth }),
    adapter,
    { bodyParser: false, logger: new NestLogger(logger), abortOnError: false },
  );
  publishAccessLevels(app);
  setUpDocs(app);
  await app.init();
  return app;
}
