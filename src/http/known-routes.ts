/**
 * Tells a wrong method on a known path (405 with Allow) from an unknown path (404). Filled from
 * Fastify's own route registration, so it can never disagree with the router.
 */
import type { FastifyInstance } from 'fastify';

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

  /** Methods allowed on this path, sorted; empty when the path is unknown. */
  methodsOf(path: string): string[] {
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
