/** Which page stands at which path. The server knows the same paths (../pages.ts). */
import { createRouter, createWebHistory, type RouteLocation } from 'vue-router';

const moved = ({ query }: RouteLocation) => {
  const { queue, ...rest } = query;
  if (typeof queue === 'string' && queue !== '') {
    return { path: `/queues/${encodeURIComponent(queue)}`, query: rest };
  }
  return { path: '/workload', query };
};

export const router = createRouter({
  history: createWebHistory(),
  routes: [
    { path: '/', component: () => import('./pages/overview.vue'), meta: { title: 'Overview' } },
    { path: '/queues', component: () => import('./pages/queues.vue'), meta: { title: 'Queues' } },
    {
      path: '/queues/:name',
      component: () => import('./pages/queue-detail.vue'),
      meta: { title: 'Queue' },
    },
    {
      path: '/ephemeral',
      component: () => import('./pages/ephemeral.vue'),
      meta: { title: 'Ephemeral queues' },
    },
    {
      path: '/messages',
      component: () => import('./pages/messages.vue'),
      meta: { title: 'Messages' },
    },
    {
      path: '/dlq',
      component: () => import('./pages/dead-letters.vue'),
      meta: { title: 'Dead letters' },
    },
    { path: '/timers', component: () => import('./pages/timers.vue'), meta: { title: 'Timers' } },
    { path: '/kv', component: () => import('./pages/key-values.vue'), meta: { title: 'KV' } },
    { path: '/locks', component: () => import('./pages/locks.vue'), meta: { title: 'Locks' } },
    {
      path: '/consumers',
      component: () => import('./pages/consumer-groups.vue'),
      meta: { title: 'Consumer groups' },
    },
    {
      path: '/workload',
      component: () => import('./pages/workload.vue'),
      meta: { title: 'Workload' },
    },
    { path: '/traces', component: () => import('./pages/traces.vue'), meta: { title: 'Traces' } },
    {
      path: '/settings',
      component: () => import('./pages/settings.vue'),
      meta: { title: 'Settings' },
    },
    { path: '/system', component: () => import('./pages/cluster.vue'), meta: { title: 'Cluster' } },
    { path: '/analytics', redirect: moved },
    { path: '/operations', redirect: moved },
    {
      path: '/:pathMatch(.*)*',
      component: () => import('./pages/not-found.vue'),
      meta: { title: 'Not found' },
    },
  ],
});

router.afterEach((to) => {
  const title = typeof to.params['name'] === 'string' ? to.params['name'] : to.meta['title'];
  document.title = `${String(title ?? 'Queen')} | Queen Dashboard`;
});
