/**
 * What the pages show while nothing is known, when there is nothing, and when a load fails: a failure
 * never looks like nothing and an unknown number is never 0 (admin.md §2.1). And every control is
 * reached with the Tab key.
 */
import type { Page, Route } from 'playwright-core';
import { inBrowser, type Scene } from './scene.js';

jest.setTimeout(180_000);

/** Path, and what stands there when there is nothing. */
const PAGES: readonly (readonly [string, string])[] = [
  ['/', 'Nothing needs you'],
  ['/queues', 'No queues yet'],
  ['/ephemeral', 'No ephemeral queues'],
  ['/messages', 'No messages here'],
  ['/dlq', 'No dead letters'],
  ['/timers?queue=none', 'No timers on this queue'],
  ['/kv', 'No keys yet'],
  ['/locks', 'No lock is held'],
  ['/consumers', 'No consumer groups yet'],
  ['/supervisors', 'No supervisor published anything'],
  ['/workload', 'No queues here'],
  ['/traces', 'No traces yet'],
  ['/settings', 'An empty field follows'],
  ['/system', 'Members'],
];

const refuse =
  (status: number, body: object, headers = {}) =>
  (route: Route) =>
    route.fulfill({ status, json: body, headers });

/** Controls of the page that a mouse can reach, in the order they stand. */
const REACHABLE = `[...document.querySelectorAll('a[href], button, input, select, textarea, summary')]
  .filter((one) => !one.disabled && one.checkVisibility({ visibilityProperty: true }))`;

/** All at once: one that worked may take others away. */
const TRY_AGAIN = `[...document.querySelectorAll('button')]
  .filter((one) => one.textContent.trim() === 'Try again')
  .forEach((one) => one.click())`;

async function withTab(page: Page): Promise<{ all: number; missed: string[] }> {
  const all = Number(await page.evaluate(`${REACHABLE}.length`));
  await page.evaluate(
    'document.activeElement?.blur(); window.seen = new Set(); window.scrollTo(0, 0)',
  );
  // An input for a time has a stop for each of its parts.
  const times = await page.locator('input[type=datetime-local]').count();
  for (let i = 0; i < all + 8 + 8 * times; i += 1) {
    await page.keyboard.press('Tab');
    await page.evaluate('window.seen.add(document.activeElement)');
  }
  const missed = await page.evaluate(
    `${REACHABLE}.filter((one) => !window.seen.has(one)).map((one) => one.outerHTML.slice(0, 120))`,
  );
  return { all, missed: missed as string[] };
}

function suite(scene: Scene): void {
  afterEach(() => scene.page.unrouteAll({ behavior: 'ignoreErrors' }));

  it.each(PAGES)('%s says that there is nothing', async (path, empty) => {
    await scene.goto(path);
    await scene.text(empty).waitFor();
    expect(await scene.page.getByText('Could not load').count()).toBe(0);
  });

  it.each(PAGES)('%s waits with a skeleton, not with numbers', async (path) => {
    const { page } = scene;
    const held: Route[] = [];
    scene.causes(null, '/api/v1/');
    await page.route('**/api/v1/**', (route) => void held.push(route));
    await page.goto(scene.broker.url + path, { waitUntil: 'commit' });
    await page.getByRole('status', { name: 'Loading' }).first().waitFor();
    const figures = await page.locator('.tile dd').allTextContents();
    expect(figures.filter((text) => /\d/.test(text))).toEqual([]);
    for (const route of held) await route.abort();
  });

  it.each(PAGES)('%s says that it could not load, and why', async (path, empty) => {
    const { page } = scene;
    scene.causes(503, '/api/v1/');
    await page.route('**/api/v1/**', refuse(503, { error: 'a storm', code: 'timeout' }));
    await scene.goto(path);
    await page.getByText('Could not load').first().waitFor();
    await page.getByText('a storm').first().waitFor();
    // Every card has heard it: one that fails after the second try would wait for the next tick.
    await page.waitForLoadState('networkidle');
    const figures = await page.locator('.tile dd').allTextContents();
    expect(figures.filter((text) => /\d/.test(text))).toEqual([]);
    if (path !== '/system') expect(await page.getByText(empty).count()).toBe(0);
    await page.unroute('**/api/v1/**');
    await page.evaluate(TRY_AGAIN);
    await page.getByText('Could not load').first().waitFor({ state: 'detached' });
  });

  it.each(PAGES)('%s is reached with the Tab key, control by control', async (path, empty) => {
    await scene.goto(path);
    await scene.text(empty).waitFor();
    await scene.page.waitForLoadState('networkidle');
    const { all, missed } = await withTab(scene.page);
    expect(all).toBeGreaterThan(10);
    expect(missed).toEqual([]);
  });

  it('says quietly what this broker does not serve', async () => {
    const { page } = scene;
    scene.causes(404, '/api/v1/traces/');
    await page.route(
      '**/api/v1/traces/**',
      refuse(404, { error: 'not found', code: 'no_such_route' }),
    );
    await scene.goto('/traces');
    await page.getByText('Not served here').waitFor();
    await page.route('**/api/v1/ephemeral/**', (route) =>
      route.fulfill({ status: 200, contentType: 'text/html', body: '<!doctype html>' }),
    );
    await scene.goto('/ephemeral');
    await page.getByText('Not served here').waitFor();
  });

  it('does not start when nobody can say who looks, and starts on a second try', async () => {
    const { page } = scene;
    scene.causes(500, '/auth/me');
    await page.route('**/auth/me', refuse(500, { error: 'lost its mind' }));
    await scene.goto('/queues');
    await scene.heading('The dashboard cannot start').waitFor();
    await page.getByText('lost its mind').waitFor();
    await page.unroute('**/auth/me');
    await scene.button('Try again').click();
    await scene.heading('Queues').waitFor();
  });

  it('says how long a refusal for load asks to wait', async () => {
    const { page } = scene;
    scene.causes(429, '/api/v1/push');
    await page.route(
      '**/api/v1/push',
      refuse(429, { error: 'too much', code: 'overloaded' }, { 'retry-after': '3' }),
    );
    await scene.goto('/messages');
    await scene.button('Push message').click();
    await scene.dialog().locator('input[name=queue]').fill('q');
    await scene.button('Push').click();
    await scene.dialog().getByText('too much; again in 3 s').waitFor();
  });

  it('a list that the broker cut says so', async () => {
    const { page } = scene;
    const lane = {
      ...{ consumer_group: 'g', queue_name: 'q', partition_name: 'p', worker_id: null },
      ...{ offset_lag: 1, time_lag_seconds: 400, oldest_unconsumed_at: '2026-01-02T03:04:05.000Z' },
    };
    const lagging = '**/consumer-groups/lagging*';
    const cut = scene.card('Lanes far behind').getByText('did not list all of them');
    await page.route(lagging, (route) => route.fulfill({ json: [lane] }));
    await scene.goto('/consumers');
    await scene.card('Lanes far behind').getByText('6m 40s').waitFor();
    expect(await cut.count()).toBe(0);
    await page.route(lagging, (route) =>
      route.fulfill({ json: [lane], headers: { 'x-queen-truncated': 'true' } }),
    );
    await page.reload();
    await cut.waitFor();
  });

  it('a full disk is told on every page', async () => {
    const { page } = scene;
    await page.route('**/api/v1/raft/members', async (route) => {
      const response = await route.fetch();
      const answer = await response.json();
      answer.members[0].host.disk.writesRefused = true;
      await route.fulfill({ response, json: answer });
    });
    for (const path of ['/', '/kv', '/system']) {
      await scene.goto(path);
      await page.getByText('A node refuses writes because its disk is full.').waitFor();
    }
  });

  it('times stand in the zone of the viewer, UTC beside them', async () => {
    const { broker, page } = scene;
    await broker.post('/api/v1/push', { items: [{ queue: 'timed', payload: 1 }] });
    await scene.goto('/messages?queue=timed');
    const time = page.locator('main time').first();
    await time.waitFor();
    const iso = String(await time.getAttribute('datetime'));
    expect(await time.getAttribute('title')).toBe(iso);
    expect(await time.textContent()).toContain(`${iso.slice(11, 19)} UTC`);
    const local = await page.evaluate(`new Date('${iso}').getHours()`);
    expect(await time.locator('span').textContent()).toContain(
      ` ${String(local).padStart(2, '0')}:`,
    );
  });
}

inBrowser('states of the dashboard', suite);
