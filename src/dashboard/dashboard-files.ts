/**
 * Serves the built dashboard: its files as they are, and one document for every page. Without a build
 * there are no such routes and the API alone is served. The document is never cached, the files carry a
 * hash in their names and are cached for good.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PAGE_HEADERS } from '../docs-api/index.js';
import { PAGES } from './pages.js';

const DOCUMENT = 'index.html';
const FOR_GOOD = 'public, max-age=31536000, immutable';
const HTML = 'text/html; charset=utf-8';

/** Beside this module in a build; the built one when the sources run. */
export function findBuild(): string | null {
  const here = dirname(fileURLToPath(import.meta.url));
  const places = [join(here, 'public'), join(here, '..', '..', 'dist', 'dashboard', 'public')];
  return places.find((place) => existsSync(join(place, DOCUMENT))) ?? null;
}

/** Call before the first route is registered; returns the document. */
export function serveDashboard(fastify: FastifyInstance, root: string): Buffer {
  const document = readFileSync(join(root, DOCUMENT));
  void fastify.register(fastifyStatic, {
    ...{ root, prefix: '/', wildcard: false, index: false, decorateReply: false },
    ...{ cacheControl: false, etag: false, lastModified: false },
    globIgnore: [DOCUMENT],
    setHeaders: (reply) => {
      void reply.headers(PAGE_HEADERS).header('cache-control', FOR_GOOD);
    },
  });
  const send = (_request: FastifyRequest, reply: FastifyReply): void => {
    void sendDocument(reply, document);
  };
  for (const url of PAGES) fastify.get(url, { config: { access: 'public' } }, send);
  return document;
}

export function sendDocument(reply: FastifyReply, document: Buffer): FastifyReply {
  return reply.headers(PAGE_HEADERS).header('cache-control', 'no-cache').type(HTML).send(document);
}
