/**
 * The global guard: no handler runs unless the request's clearance passes the level its route declares
 * with `@Access`. The hook decided the same before the body was read; here a route that lost its level
 * on the way, or has none, is refused instead of served.
 */
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ACCESS_METADATA, passes, type AccessLevel } from './access.js';
import { InsufficientPermissions, REFUSAL, Unauthenticated } from './refusal.js';

export class AccessGuard implements CanActivate {
  private readonly levels = new WeakMap<object, AccessLevel>();

  canActivate(context: ExecutionContext): boolean {
    const level = this.levelOf(context.getHandler());
    if (level === 'public') return true;
    const { clearance } = context.switchToHttp().getRequest<FastifyRequest>();
    if (clearance === 'skipped') return true;
    if (clearance === null) throw new Unauthenticated(REFUSAL.missing);
    if (!passes(level, clearance.roles)) throw new InsufficientPermissions();
    return true;
  }

  /** A handler without a level is for admins. */
  private levelOf(handler: object): AccessLevel {
    const known = this.levels.get(handler);
    if (known !== undefined) return known;
    const declared = Reflect.getMetadata(ACCESS_METADATA, handler) as AccessLevel | undefined;
    const level = declared ?? 'admin';
    this.levels.set(handler, level);
    return level;
  }
}
