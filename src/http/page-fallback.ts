/**
 * What a browser is shown for a path that nothing serves: the dashboard's document, when there is one.
 * Only for navigations; whatever belongs to the API keeps its 404.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';

const NOT_PAGES =
  /^\/(api|streams|auth|internal|raft|docs|docs-json|metrics|health|status|assets)(\/|$)/;

export class PageFallback {
  private send: ((reply: FastifyReply) => void) | null = null;

  use(send: (reply: FastifyReply) => void): void {
    this.send = send;
  }

  /** True when it answered. */
  answers(request: FastifyRequest, reply: FastifyReply): boolean {
    const [path = ''] = request.url.split('?', 1);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const wantsPage = (request.headers.accept ?? '').includes('text/html');
    if (this.send === null || !isRead || !wantsPage || NOT_PAGES.test(path)) return false;
    this.send(reply);
    return true;
  }
}
