/**
 * The one place where errors become HTTP answers. Engine errors have a code of the error table; errors
 * of the framework (404, 405, 413, bad request lines) are given the shapes of messages.md §14.1.
 * A fault nobody foresaw is `500 internal`, logged with its stack, and never leaks text to the client.
 */
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import { Catch, HttpException, Inject, NotFoundException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { QueenError } from '../common/errors.js';
import { StateRefusal } from '../common/state-refusal.js';
import type { TargetLogger } from '../logging/index.js';
import { sendJson, sendText } from './answers.js';
import { BodyTooLargeError, SlowBodyError } from './body-reader.js';
import { KnownRoutes } from './known-routes.js';
import { PageFallback } from './page-fallback.js';
import { QueryTextError } from './query.js';
import { HTTP_LOGGER } from './tokens.js';

interface FrameworkError {
  readonly statusCode?: number;
  readonly message: string;
}

@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(
    private readonly routes: KnownRoutes,
    private readonly fallback: PageFallback,
    @Inject(HTTP_LOGGER) private readonly logger: TargetLogger,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const reply = http.getResponse<FastifyReply>();
    if (reply.sent) return;
    this.answer(error, http.getRequest<FastifyRequest>(), reply);
  }

  private answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    if (error instanceof QueenError) sendQueenError(reply, error);
    else if (error instanceof StateRefusal) {
      if (error.cause !== undefined) this.logFault(error.cause, request);
      sendStateRefusal(reply, error);
    } else if (error instanceof QueryTextError) sendText(reply, 400, error.message);
    else if (error instanceof NotFoundException) this.notFound(request, reply);
    else if (error instanceof HttpException) {
      if (error.getStatus() === 401) void reply.header('www-authenticate', 'Bearer');
      sendJson(reply, error.getStatus(), { error: error.message });
    } else this.framework(error, request, reply);
  }

  private notFound(request: FastifyRequest, reply: FastifyReply): void {
    const path = request.url.split('?', 1)[0] ?? request.url;
    const methods = this.routes.methodsOf(path);
    if (methods.length > 0 && !methods.includes(request.method)) {
      void reply.code(405).header('allow', methods.join(', ')).send();
    } else if (this.fallback.answers(request, reply)) {
      return;
    } else if (path.startsWith('/api/') || path.startsWith('/streams/')) {
      sendJson(reply, 404, { code: 'no_such_route', error: 'not found', path });
    } else {
      sendJson(reply, 404, { error: 'Not Found', code: 'no_such_route' });
    }
  }

  private framework(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const known: FrameworkError | null = error instanceof Error ? error : null;
    const status = known?.statusCode ?? 500;
    if (error instanceof BodyTooLargeError) {
      sendText(reply, 413, 'the request body is larger than QUEEN_MAX_BODY_BYTES\n');
    } else if (error instanceof SlowBodyError) {
      void reply.header('connection', 'close');
      sendJson(reply, status, { error: error.message, code: 'bad_request' });
    } else if (known !== null && status >= 400 && status < 500) {
      sendJson(reply, status, { error: known.message, code: 'bad_request' });
    } else {
      this.logFault(error, request);
      sendQueenError(reply, new QueenError('internal'));
    }
  }

  private logFault(error: unknown, request: FastifyRequest): void {
    this.logger.error('request failed', {
      method: request.method,
      path: request.routeOptions?.url ?? '',
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  }
}

/** `{"error","reason","detail"}` with the status and Retry-After of the refusal. */
export function sendStateRefusal(reply: FastifyReply, refusal: StateRefusal): void {
  const seconds = refusal.retryAfterSeconds;
  if (seconds !== undefined) void reply.header('retry-after', String(seconds));
  sendJson(reply, refusal.status, refusal.body);
}

/** `{"error","code"}` plus fields, with the status and Retry-After of the table. */
export function sendQueenError(reply: FastifyReply, error: QueenError): void {
  const { retryAfter, ...fields } = error.fields as Record<string, unknown>;
  const seconds = typeof retryAfter === 'number' ? retryAfter : error.retryAfterSeconds;
  if (seconds !== undefined) void reply.header('retry-after', String(seconds));
  sendJson(reply, error.status, { error: error.message, code: error.code, ...fields });
}
