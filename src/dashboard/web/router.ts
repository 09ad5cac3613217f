/**
 * Which page stands at which path, and what one must be allowed to do to see it. The server knows the
 * same paths (../pages.ts). Nothing is shown before it is known who looks.
 */
import {
  createRouter,
  createWebHistory,
  type RouteComponent,
  type RouteLocation,
} from 'vue-router';
import { toast } from './lib/dialogs';
import { can, identity, loadIdentity, type Capability } from './lib/identity';

const moved = ({ query }: RouteLocation) => {
  const { queue, ...rest } = query;
  if (typeof queue === 'string' && queue !== '') {
    return { path: `/queues/${encodeURIComponent(queue)}`, query: rest };
  }
  return { path: '/workload', query };
};

type Load = () => Promise<RouteComponent>;
const page = (path: string, title: string, component: Load, needs: Capability = 'read') => ({
  ...{ path, component },
  meta: { title, needs },
});

export const router = createRouter({
  history: createWebHistory(),
  routes: [
    // Without any right it says so itself: there is nowhere else to go.
    { path: '/', component: () => import('./pages/overview.vue'), meta: { title: 'Overview' } },
    page('/queues', 'Queues', () => import('./pages/queues.vue')),
    page('/queues/:name', 'Queue', () => import('./pages/queue-detail.vue')),
    page('/ephemeral', 'Ephemeral queues', () => import('./pages/ephemeral.vue')),
    page('/messages', 'Messages', () => import('./pages/messages.vue')),
    page('/dlq', 'Dead letters', () => import('./pages/dead-letters.vue')),
    page('/timers', 'Timers', () => import('./pages/timers.vue')),
    page('/kv', 'KV', () => import('./pages/key-values.vue')),
    page('/locks', 'Locks', () => import('./pages/locks.vue')),
    page('/consumers', 'Consumer groups', () => import('./pages/consumer-groups.vue')),
    page('/supervisors', 'Supervisors', () => import('./pages/supervisors.vue')),
    page('/workload', 'Workload', () => import('./pages/workload.vue')),
    page('/traces', 'Traces', () => import('./pages/traces.vue')),
    page('/settings', 'Settings', () => import('./pages/settings.vue')),
    page('/system', 'Cluster', () => import('./pages/cluster.vue'), 'operator'),
    { path: '/analytics', redirect: moved },
    { path: '/operations', redirect: moved },
    {
      path: '/:pathMatch(.*)*',
      component: () => import('./pages/not-found.vue'),
      meta: { title: 'Not found' },
    },
  ],
});

/** Nobody known yet: the gate keeps the page away. */
export function mayShow({ meta }: Pick<RouteLocation, 'meta'>): boolean {
  return identity.value === null || meta.needs === undefined || can(meta.needs as Capability);
}

/** Says so when the role does not. */
export function isAllowed(route: Pick<RouteLocation, 'meta'>): boolean {
  const isShown = mayShow(route);
  if (!isShown) toast(`${String(route.meta.title)}: your role does not allow it`, 'failed');
  return isShown;
}

router.beforeEach(async (to) => {
  if (identity.value === null) await loadIdentity();
  return isAllowed(to) ? true : '/';
});

router.afterEach((to) => {
  const title = typeof to.params['name'] === 'string' ? to.params['name'] : to.meta['title'];
  document.title = `${String(title ?? 'Queen')} | Queen Dashboard`;
});
