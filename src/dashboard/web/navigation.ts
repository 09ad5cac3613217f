/** The pages as the navigation groups them; a page that one may not see is not listed. */
import type { Capability } from './lib/identity';

interface NavigationPage {
  readonly path: string;
  readonly title: string;
  /** `read` when absent. */
  readonly needs?: Capability;
}

interface NavigationGroup {
  readonly title: string;
  readonly pages: readonly NavigationPage[];
}

export const NAVIGATION: readonly NavigationGroup[] = [
  { title: '', pages: [{ path: '/', title: 'Overview' }] },
  {
    title: 'Messaging',
    pages: [
      { path: '/queues', title: 'Queues' },
      { path: '/ephemeral', title: 'Ephemeral queues' },
      { path: '/messages', title: 'Messages' },
      { path: '/dlq', title: 'Dead letters' },
      { path: '/timers', title: 'Timers' },
      { path: '/kv', title: 'KV' },
      { path: '/locks', title: 'Locks' },
    ],
  },
  {
    title: 'Workers',
    pages: [
      { path: '/consumers', title: 'Consumer groups' },
      { path: '/supervisors', title: 'Supervisors' },
    ],
  },
  {
    title: 'Analysis',
    pages: [
      { path: '/workload', title: 'Workload' },
      { path: '/traces', title: 'Traces' },
      { path: '/settings', title: 'Settings' },
    ],
  },
  { title: 'Cell', pages: [{ path: '/system', title: 'Cluster', needs: 'operator' }] },
];
