/**
 * Levels of paths that belong to no declared route: unknown ones, wrong methods, static files (admin.md
 * §0.2, first match wins). A stranger learns nothing from a 404 that a token should have to ask for.
 */
import type { AccessLevel } from './access.js';

interface PathRule {
  readonly level: AccessLevel;
  readonly methods?: readonly string[];
  readonly pattern: RegExp;
}

const READS = ['GET', 'HEAD'];

const RULES: readonly PathRule[] = [
  {
    level: 'public',
    pattern:
      /^\/(?:$|health$|metrics$|metrics\/prometheus$|assets\/|favicon|auth\/(?:me|login|logout)$)/,
  },
  { level: 'admin', pattern: /^\/(?:api\/v1\/system|internal)\// },
  {
    level: 'admin',
    methods: ['DELETE'],
    pattern:
      /^\/api\/v1\/(?:consumer-groups\/|resources\/queues\/|resources\/tenant$|dlq(?:$|\/$))/,
  },
  {
    level: 'admin',
    pattern: /^\/api\/v1\/stats\/refresh$/,
  },
  { level: 'admin', methods: ['POST'], pattern: /^\/api\/v1\/resources\/quota$/ },
  {
    level: 'read-only',
    methods: READS,
    pattern:
      /^\/(?:status$|api\/v1\/(?:status|analytics|resources\/|messages|consumer-groups|dlq|traces|kv|timers|ephemeral\/queues|raft\/))/,
  },
  {
    level: 'read-only',
    methods: ['POST'],
    pattern:
      /^\/(?:api\/v1\/(?:fetch|fetch\/offsets|partitions\/changed|consumer-groups\/positions|resources\/kv\/list)|streams\/v1\/state\/get)$/,
  },
];

export function levelOfPath(method: string, path: string): AccessLevel {
  const rule = RULES.find(
    ({ methods, pattern }) => (methods?.includes(method) ?? true) && pattern.test(path),
  );
  return rule?.level ?? 'read-write';
}
