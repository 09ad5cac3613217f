/**
 * Bounds of the listening socket that Node keeps on the server and not in its options: connections at
 * once, and headers, of which none may be dropped silently.
 */
import type { Server } from 'node:http';
import { sampledLogger, type TargetLogger } from '../logging/index.js';

export function boundServer(server: Server, maxConnections: number, log: TargetLogger): void {
  // Their bytes are bounded. Node would drop those beyond its own count without a word, and with them
  // a tenant header that a proxy put behind two thousand headers of its client.
  server.maxHeadersCount = 0;
  if (maxConnections === 0) return;
  server.maxConnections = maxConnections;
  const sampled = sampledLogger(log);
  server.on('drop', () => {
    sampled.log('warn', 'too many connections, new ones are closed', { max: maxConnections });
  });
}
