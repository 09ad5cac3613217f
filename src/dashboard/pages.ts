/** Paths of the dashboard's pages: each is the one document, which then shows the page. */
export const PAGES = [
  '/',
  '/queues',
  '/queues/:name',
  '/ephemeral',
  '/messages',
  '/dlq',
  '/timers',
  '/kv',
  '/locks',
  '/consumers',
  '/supervisors',
  '/workload',
  '/traces',
  '/settings',
  '/system',
  // Where former lines had the workload.
  '/analytics',
  '/operations',
] as const;
