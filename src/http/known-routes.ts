/**
 * Tells a wrong method on a fixed path (405 with Allow) from what is 404: an unknown path, and a wrong
 * method on any other path (admin.md §0.1). Filled from Fastify's own route registration, so it can
 * never disagree with the router.
 */
import type { FastifyInstance } from 'fastify';

/** Routes with handlers of their own: the message plane, keys, locks, timers, ephemeral verbs, probes. */
const FIXED = [
  /^\/api\/v1\/(push|ack|ack\/batch|transaction|lease\/[^/]+\/extend)$/,
  /^\/api\/v1\/(pop|kv|timers|locks)(\/|$)/,
  /^\/api\/v1\/ephemeral\/(?!queues(\/|$))/,
  /^\/api\/v1\/stats\/refresh$/,
  /^\/api\/v1\/system\/raft\/membership(\/|$)/,
  /^\/auth\//,
  /^\/(health|status|metrics|metrics\/prometheus)$/,
];

interface KnownPath {
  readonly pattern: RegExp;
  readonly methods: Set<string>;
}

export class KnownRoutes {
  private readonly paths = new Map<string, KnownPath>();

  /** Must be attached before the first route is registered. */
  attach(fastify: FastifyInstance): void {
    fastify.addHook('onRoute', (route) => {
      const methods = Array.isArray(route.method) ? route.method : [route.method];
      let known = this.paths.get(route.url);
      if (known === undefined) {
        known = { pattern: patternOf(route.url), methods: new Set() };
        this.paths.set(route.url, known);
      }
      for (const method of methods) known.methods.add(method);
    });
  }

  /** Methods a fixed path allows, sorted; empty when the path is unknown or not fixed. */
  methodsOf(path: string): string[] {
    if (!FIXED.some((pattern) => pattern.test(path))) return [];
    const methods = new Set<string>();
    for (const known of this.paths.values()) {
      if (!known.pattern.test(path)) continue;
      for (const method of known.methods) methods.add(method);
    }
    return [...methods].sort();
  }
}

function patternOf(url: string): RegExp {
  const source = url
    .split('/')
    .map((segment) => {
      if (segment.startsWith(':')) return '[^/]+';
      if (segment === '*') return '.*';
      return segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    })
    .join('/');
  return new RegExp(`^${source}$`);
}
