/**
 * The built dashboard in a real browser, as a person uses it: every page, a queue made, a message pushed,
 * looked at and lost, a dead letter replayed, the queue deleted, and what it shows when the broker is
 * gone. Skipped, not passed, where the machine has no Chromium or the dashboard is not built.
 */
import { inBrowser, type Scene } from './scene.js';

jest.setTimeout(180_000);

const PAGES: readonly (readonly [string, string])[] = [
  ['Overview', 'Overview'],
  ['Queues', 'Queues'],
  ['Ephemeral queues', 'Ephemeral queues'],
  ['Messages', 'Messages'],
  ['Dead letters', 'Dead letters'],
  ['KV', 'KV'],
  ['Timers', 'Timers'],
  ['Locks', 'Locks'],
  ['Consumer groups', 'Consumer groups'],
  ['Supervisors', 'Supervisors'],
  ['Workload', 'Workload'],
  ['Traces', 'Traces'],
  ['Cluster', 'Cluster'],
  ['Settings', 'Settings'],
];

function suite(scene: Scene): void {
  const heading = (name: string) => scene.heading(name);
  const button = (name: string) => scene.button(name);
  const dialog = () => scene.dialog();

  it('shows every page from the navigation, and again when it is loaded directly', async () => {
    const { broker, page } = scene;
    await page.goto(`${broker.url}/`);
    for (const [link, title] of PAGES) {
      await page.getByRole('navigation').getByRole('link', { name: link, exact: true }).click();
      await heading(title).waitFor();
      await page.reload();
      await heading(title).waitFor();
      expect(await page.title()).toBe(`${title} | Queen Dashboard`);
      await page.waitForLoadState('networkidle');
      expect(await page.getByText('Could not load').count()).toBe(0);
    }
    await page.goto(`${broker.url}/no/such/page`);
    await heading('Page not found').waitFor();
  });

  it('creates a queue', async () => {
    const { broker, page } = scene;
    await page.goto(`${broker.url}/queues`);
    await page.getByText('No queues yet').waitFor();
    await button('Create queue').click();
    await dialog().locator('input[name=queue]').fill('orders/eu');
    await dialog().locator('input[name=namespace]').fill('shop');
    await dialog().locator('input[name=leaseTime]').fill('0');
    await dialog().getByRole('button', { name: 'Create queue' }).click();
    await dialog().getByText('at least 1').waitFor();
    await dialog().locator('input[name=leaseTime]').fill('45');
    await dialog().getByRole('button', { name: 'Create queue' }).click();
    await heading('orders/eu').waitFor();
    const { json } = await broker.get('/api/v1/resources/queues/orders%2Feu');
    expect(json.options).toMatchObject({ leaseTime: 45, retryLimit: 3 });
  });

  it('changes only what was changed', async () => {
    const { broker } = scene;
    await button('Edit').click();
    await dialog().locator('input[name=retryLimit]').fill('7');
    await dialog().locator('input[name=leaseTime]').fill('');
    await button('Save changes').click();
    await dialog().waitFor({ state: 'detached' });
    const { json } = await broker.get('/api/v1/resources/queues/orders%2Feu');
    expect(json).toMatchObject({ namespace: 'shop', options: { retryLimit: 7, leaseTime: 300 } });
  });

  it('pushes a message and shows the verdict, then the message', async () => {
    const { broker, page } = scene;
    await button('Push message').click();
    await dialog().locator('input[name=transactionId]').fill('tx-1');
    await dialog().locator('textarea[name=payload]').fill('{"broken"');
    await button('Push').click();
    await dialog().getByText('The payload is no JSON').waitFor();
    await dialog().locator('textarea[name=payload]').fill('{"order": 17}');
    await button('Push').click();
    await dialog().getByText('queued', { exact: true }).waitFor();
    await button('Push').click();
    await dialog().getByText('duplicate', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'detached' });
    await page.goto(`${broker.url}/messages?queue=${encodeURIComponent('orders/eu')}`);
    await button('tx-1').click();
    await dialog().getByText('"order": 17').waitFor();
    await dialog().getByText('pending').first().waitFor();
    expect(await dialog().getByText('UTC').count()).toBeGreaterThan(0);
    await page.keyboard.press('Escape');
  });

  it('replays a dead letter and deletes another', async () => {
    const { broker, page } = scene;
    await broker.post('/api/v1/push', {
      items: [{ queue: 'orders/eu', transactionId: 'tx-2', payload: 2 }],
    });
    const path = '/api/v1/pop/queue/orders%2Feu?consumerGroup=billing&subscriptionMode=all&batch=2';
    const { json: popped } = await broker.get(path);
    expect(popped.messages).toHaveLength(2);
    await broker.post('/api/v1/ack/batch', {
      consumerGroup: 'billing',
      acknowledgments: popped.messages.map((message: Record<string, string>) => ({
        ...{ transactionId: message['transactionId'], partitionId: message['partitionId'] },
        ...{ leaseId: message['leaseId'], status: 'dlq', error: 'customer 17 is unknown' },
      })),
    });
    await page.goto(`${broker.url}/dlq?queue=${encodeURIComponent('orders/eu')}`);
    await page.getByText('customer <n> is unknown').waitFor();
    await button('Replay tx-1').click();
    await dialog().getByText('leaves the dead letters').waitFor();
    await dialog().getByRole('button', { name: 'Replay' }).click();
    await page.getByText('Replayed to orders/eu / Default').waitFor();
    await button('Replay tx-1').waitFor({ state: 'detached' });
    await button('Delete tx-2').click();
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await page.getByText('What fails for good appears here.').waitFor();
    const { json } = await broker.get('/api/v1/dlq');
    expect(json.total).toBe(0);
  });

  it('moves a consumer group', async () => {
    const { broker, page } = scene;
    await page.goto(`${broker.url}/consumers`);
    await button('billing').click();
    await dialog().getByRole('button', { name: 'Replay from beginning' }).click();
    await page.getByRole('button', { name: 'Move', exact: true }).click();
    await page.getByText('Moved 1 partitions').waitFor();
    await page.keyboard.press('Escape');
    const { json } = await broker.get('/api/v1/consumer-groups/billing');
    expect(json['orders/eu'].partitions[0].offsetLag).toBe(3);
  });

  it('keeps the chosen theme', async () => {
    const { page } = scene;
    await page.locator('select[name=theme]').selectOption('dark');
    await page.reload();
    await page.locator('html[data-theme=dark]').waitFor();
    await page.locator('select[name=theme]').selectOption('light');
    await page.locator('html[data-theme=light]').waitFor();
  });

  it('can be used with the keyboard alone', async () => {
    const { broker, page } = scene;
    await page.goto(`${broker.url}/queues`);
    await button('Create queue').waitFor();
    await page.keyboard.press('Tab');
    await page.getByText('Skip to content').waitFor();
    await button('Create queue').focus();
    await page.keyboard.press('Enter');
    await dialog().waitFor();
    const name = await page.evaluate('document.activeElement?.getAttribute("name")');
    expect(name).toBe('queue');
    await page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'detached' });
    const label = await page.evaluate('document.activeElement?.textContent?.trim()');
    expect(label).toBe('Create queue');
  });

  it('deletes the queue only once its name was typed', async () => {
    const { broker, page } = scene;
    await page.goto(`${broker.url}/queues`);
    await button('Delete orders/eu').click();
    const drop = dialog().getByRole('button', { name: 'Delete queue' });
    expect(await drop.isDisabled()).toBe(true);
    await dialog().locator('input[name=typed]').fill('orders/eu');
    await drop.click();
    await page.getByText('No queues yet').waitFor();
    expect((await broker.get('/api/v1/resources/queues')).json.queues).toEqual([]);
  });

  it('asks for a token when the broker wants one', async () => {
    const { broker, page } = scene;
    scene.causes(401, '/api/v1/');
    await page.route('**/api/v1/**', (route) =>
      route.request().headers()['authorization'] === 'Bearer secret'
        ? route.continue()
        : route.fulfill({ status: 401, json: { error: 'Authentication required' } }),
    );
    await page.goto(`${broker.url}/queues`);
    await page.getByText('This broker asks for a token').waitFor();
    await dialog().locator('input[name=token]').fill('secret');
    await button('Use token').click();
    await page.getByText('No queues yet').waitFor();
    await page.unroute('**/api/v1/**');
    await button('Forget token').click();
  });

  it('keeps what it showed when the broker is gone, and never shows a failure as nothing', async () => {
    const { broker, page } = scene;
    await broker.post('/api/v1/push', { items: [{ queue: 'kept', payload: 1 }] });
    await page.goto(`${broker.url}/queues`);
    await page.getByRole('link', { name: 'kept' }).waitFor();
    scene.causes(null, '/api/v1/');
    await page.route('**/api/v1/**', (route) => route.abort());
    await button('Refresh').click();
    await page.getByText('Showing what loaded last').first().waitFor();
    await page.getByText('Broker unreachable').waitFor();
    expect(await page.getByRole('link', { name: 'kept' }).count()).toBe(1);
    await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click();
    await page.getByText('Could not load').first().waitFor();
    expect(await page.getByText('Nothing needs you').count()).toBe(0);
    await page.unroute('**/api/v1/**');
    await button('Try again').first().click();
    await page.getByText('Messages kept').waitFor();
  });
}

inBrowser('dashboard in a browser', suite);
