/**
 * What somebody may not do is absent from the dashboard, for each role of a token (admin.md §2.1): who
 * only reads sees no control that changes anything, and the pages load nothing they may not.
 */
import type { TestBroker } from '../support/broker.js';
import { SECRET, secondsNow, tokenOf } from '../support/tokens.js';
import { inBrowser, type Scene } from './scene.js';

jest.setTimeout(180_000);

const CHANGES =
  /^(create|delete|edit|lines|push|replay|skip|move|cancel|empty|save|reset|switch|promote|remove|add|start)\b/i;
const PAGES = [
  ...['/', '/queues', '/queues/jobs', '/ephemeral', '/messages', '/dlq', '/timers?queue=jobs'],
  ...['/kv', '/locks', '/consumers', '/supervisors', '/workload', '/traces', '/settings'],
];

const tokenFor = (role: string): Promise<string> =>
  tokenOf({ sub: `the ${role}`, role, exp: secondsNow() + 3600 });

async function seed(broker: TestBroker): Promise<void> {
  const headers = { authorization: `Bearer ${await tokenFor('admin')}` };
  const send = async (path: string, body: object): Promise<void> => {
    const options = { headers: { ...headers, 'content-type': 'application/json' } };
    const { status, text } = await broker.send('POST', path, JSON.stringify(body), options);
    if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
  };
  await send('/api/v1/push', { items: [{ queue: 'jobs', transactionId: 'a', payload: 1 }] });
  await send('/api/v1/ephemeral/push', { queue: 'ring', messages: [{ payload: 1 }] });
  const timer = { op: 'schedule', queue: 'jobs', timerKey: 'k', delayMs: 3_600_000, txn: 't' };
  await send('/api/v1/timers', { operations: [{ ...timer, payload: 'MQ==' }] });
  const { json } = await broker.send(
    'GET',
    '/api/v1/pop/queue/jobs?consumerGroup=g&subscriptionMode=all',
    undefined,
    {
      headers,
    },
  );
  const [message] = json.messages as Record<string, string>[];
  await send('/api/v1/ack', {
    ...{ transactionId: message?.['transactionId'], partitionId: message?.['partitionId'] },
    ...{ leaseId: message?.['leaseId'], consumerGroup: 'g', status: 'dlq', error: 'broken' },
  });
  const lines = { op: 'put', ns: 'queen.console', key: 'settings', forever: true };
  const value = { defaults: { lagWarnSeconds: 7 } };
  await send('/api/v1/kv', { operations: [{ ...lines, value }] });
}

function suite(scene: Scene): void {
  beforeAll(() => seed(scene.broker));

  async function signIn(role: string): Promise<void> {
    const { page, broker } = scene;
    scene.causes(401, '/auth/me');
    // No page of the dashboard: between its token and none it would be refused.
    await page.goto(`${broker.url}/health`);
    await page.evaluate('localStorage.clear()');
    await page.goto(`${broker.url}/settings`);
    await page.getByText('This broker asks for a token').waitFor();
    await scene
      .dialog()
      .locator('input[name=token]')
      .fill(await tokenFor(role));
    await scene.button('Use token').click();
    await scene.dialog().waitFor({ state: 'detached' });
  }

  const controls = async (): Promise<string[]> => {
    const buttons = scene.page.locator('main button');
    const names = await buttons.evaluateAll((all) =>
      all.map((one) => one.getAttribute('aria-label') ?? one.textContent?.trim() ?? ''),
    );
    return names.filter((name) => CHANGES.test(name));
  };

  it('shows nothing before it knows who looks, and asks again when the token is wrong', async () => {
    const { page, broker } = scene;
    scene.causes(401, '/auth/me');
    await page.goto(`${broker.url}/queues`);
    await page.getByText('This broker asks for a token').waitFor();
    await page.getByRole('button', { name: 'Not now' }).click();
    await scene.heading('This broker checks tokens').waitFor();
    await page.getByRole('button', { name: 'Enter a token' }).click();
    await scene.dialog().locator('input[name=token]').fill('no.such.token');
    await scene.button('Use token').click();
    await page.getByText('This broker asks for a token').waitFor();
  });

  it('a token that only reads: every page, no control that changes anything, no refused call', async () => {
    const { page, broker } = scene;
    await signIn('read-only');
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 401 || response.status() === 403) refused.push(response.url());
    });
    for (const path of PAGES) {
      await page.goto(broker.url + path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForLoadState('networkidle');
      expect([path, await controls()]).toEqual([path, []]);
      expect([path, await page.getByText('Could not load').count()]).toEqual([path, 0]);
    }
    await page.goto(`${broker.url}/consumers`);
    await scene.button('g').click();
    await scene.dialog().getByText('Consumed').first().waitFor();
    await scene.dialog().getByRole('button', { name: 'Close' }).waitFor();
    expect(await scene.dialog().getByRole('button').count()).toBe(1);
    await page.keyboard.press('Escape');
    await page.goto(`${broker.url}/settings`);
    await page.locator('input[name=lagWarnSeconds]').waitFor();
    expect(await page.locator('input[name=lagWarnSeconds]').inputValue()).toBe('7');
    expect(await page.locator('input[name=lagWarnSeconds]').isDisabled()).toBe(true);
    expect(refused).toEqual([]);
  });

  it('a page beyond the role leads to the overview, and says so', async () => {
    const { page, broker } = scene;
    expect(await page.getByRole('link', { name: 'Cluster' }).count()).toBe(0);
    await page.goto(`${broker.url}/system`);
    await scene.heading('Overview').waitFor();
    await scene.text('your role does not allow it').waitFor();
    expect(new URL(page.url()).pathname).toBe('/');
  });

  it('a token that reads and writes: queues are made, not deleted', async () => {
    const { page, broker } = scene;
    await signIn('read-write');
    await page.goto(`${broker.url}/queues`);
    await scene.button('Edit jobs').waitFor();
    expect(await controls()).toEqual(['Create queue', 'Edit jobs']);
    await page.goto(`${broker.url}/dlq?queue=jobs`);
    await scene.button('Replay a').waitFor();
    expect(await controls()).toEqual(['Replay a', 'Delete a']);
  });

  it('a token that only pushes: told so, and may push', async () => {
    const { page, broker } = scene;
    await signIn('write-only');
    await scene.heading('Overview').waitFor();
    await scene.button('Push message').click();
    await scene.dialog().locator('input[name=queue]').fill('jobs');
    await scene.button('Push').click();
    await scene.dialog().getByText('queued', { exact: true }).waitFor();
    expect(new URL(page.url()).origin).toBe(broker.url);
  });

  it('the admin sees it all', async () => {
    const { page, broker } = scene;
    await signIn('admin');
    await page.goto(`${broker.url}/system`);
    await scene.heading('Cluster').waitFor();
    await page.goto(`${broker.url}/queues`);
    await scene.button('Delete jobs').waitFor();
    expect(await page.locator('.scope').textContent()).toContain('Tenant');
  });
}

inBrowser('roles in the dashboard', suite, { JWT_ENABLED: 'true', JWT_SECRET: SECRET });
