/**
 * The actions of every page (admin.md §2.3) in a real browser, each judged by what the broker holds
 * afterwards. Queues, messages and dead letters as such: dashboard.spec.ts; who may do what: roles.spec.ts.
 */
import type { TestBroker } from '../support/broker.js';
import { inBrowser, type Scene } from './scene.js';

jest.setTimeout(180_000);

const HOUR_MS = 3_600_000;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

async function push(broker: TestBroker, queue: string, ids: readonly string[]): Promise<void> {
  const items = ids.map((transactionId, i) => ({
    ...{ queue, partition: `p${i % 2}`, transactionId, payload: { n: i } },
  }));
  const { status, text } = await broker.post('/api/v1/push', { items });
  if (status >= 300) throw new Error(text);
}

/** Everything of a queue for a group; acknowledged as dead letters, or left leased. */
async function popAll(broker: TestBroker, queue: string, group: string, error?: string) {
  for (let n = 0; n < 2; n += 1) {
    const { json } = await broker.get(
      `/api/v1/pop/queue/${queue}?consumerGroup=${group}&subscriptionMode=all&batch=10`,
    );
    if (error === undefined) continue;
    await broker.post('/api/v1/ack/batch', {
      consumerGroup: group,
      acknowledgments: json.messages.map((message: Record<string, string>) => ({
        ...{ transactionId: message['transactionId'], partitionId: message['partitionId'] },
        ...{ leaseId: message['leaseId'], status: 'dlq', error },
      })),
    });
  }
}

async function seed(broker: TestBroker): Promise<void> {
  await broker.post('/api/v1/configure', { queue: 'jobs', namespace: 'shop', task: 'mail' });
  await push(broker, 'jobs', ['a', 'b', 'c', 'd']);
  await popAll(broker, 'jobs', 'readers', 'no route to 17');
  await broker.post('/api/v1/ephemeral/push', { queue: 'ring', messages: [{ payload: 1 }] });
  const operations = [
    { op: 'put', ns: 'saga', key: 'order-1', value: { state: 'paid' }, forever: true },
    { op: 'put', ns: 'saga', key: 'order-2', value: 2, ttlSeconds: 3600 },
    {
      ...{ op: 'put', ns: 'queen-supervisor', key: 'billing/s-1', forever: true },
      value: {
        heartbeatAt: new Date(Date.now() - HOUR_MS).toISOString(),
        pools: [
          { name: 'mailers', queue: 'jobs', workers: 2, target: 4 },
          { name: 'printers', queue: 'jobs', workers: 1, target: 1, error: 'out of paper' },
        ],
      },
    },
    { op: 'put', ns: 'queen-supervisor', key: 'odd', value: 'no publication', forever: true },
    {
      ...{ op: 'put', ns: 'queen-supervisor', key: 'clockless/s-1', forever: true },
      value: { heartbeatAt: 'some day', pools: [] },
    },
    {
      ...{ op: 'put', ns: 'queen-locks', key: 'window#0', ttlSeconds: 300 },
      value: { owner: 'ben', since: 'some day' },
    },
  ];
  await broker.post('/api/v1/kv', { operations });
  await broker.post('/api/v1/locks', [
    { op: 'acquire', name: 'door', ttlSeconds: 300, owner: 'ana' },
  ]);
  const timer = { op: 'schedule', queue: 'jobs', delayMs: HOUR_MS, payload: base64('{"n":1}') };
  const timers = ['wake/1', 'wake/2'].map((timerKey) => ({ ...timer, timerKey, txn: timerKey }));
  await broker.post('/api/v1/timers', { operations: timers });
  const { json } = await broker.get('/api/v1/messages?queue=jobs');
  const [message] = json.messages as { partitionId: string; transactionId: string }[];
  await broker.post('/api/v1/traces', {
    ...{ ...message, traceNames: ['order 17'], eventType: 'mailed', worker: 'w-1' },
    data: { to: 'ana' },
  });
}

function suite(scene: Scene): void {
  const button = (name: string) => scene.button(name);
  const dialog = () => scene.dialog();
  const confirm = (name: string) => dialog().last().getByRole('button', { name }).click();

  beforeAll(() => seed(scene.broker));

  queueActions(scene);
  messageActions(scene);
  groupActions(scene);

  it('ephemeral queues: empties a ring, deletes it once its name was typed', async () => {
    const { broker } = scene;
    await scene.goto('/ephemeral');
    await scene.text('Nothing here survives').waitFor();
    await button('Empty ring').click();
    await confirm('Empty');
    await scene.text('Dropped 1 messages').waitFor();
    await button('Delete ring').click();
    await dialog().locator('input[name=typed]').fill('ring');
    await confirm('Delete');
    await scene.text('No ephemeral queues').waitFor();
    expect((await broker.get('/api/v1/ephemeral/queues')).json.queues).toEqual([]);
  });

  it('KV: counts namespaces, lists a prefix, opens a value', async () => {
    await scene.goto('/kv');
    await scene.text('≈ ').waitFor();
    await scene.page.getByRole('button', { name: /^saga/ }).click();
    await button('order-2').waitFor();
    await scene.page.locator('input[name=prefix]').fill('order-1');
    await button('List').click();
    await button('order-2').waitFor({ state: 'detached' });
    await button('order-1').click();
    await dialog().getByText('"state": "paid"').waitFor();
    await dialog().getByText('never').waitFor();
  });

  it('timers: counts a prefix, shows one, cancels it', async () => {
    const { broker, page } = scene;
    await scene.goto('/timers?queue=jobs');
    await button('wake/1').waitFor();
    await page.locator('input[name=prefix]').fill('wake/');
    await button('List').click();
    await scene.text('2 with that prefix').waitFor();
    await button('wake/1').click();
    await dialog().getByText('"n": 1').waitFor();
    await button('Cancel timer').click();
    await confirm('Cancel timer');
    await scene.page.getByText('Cancelled', { exact: true }).waitFor();
    const { json } = await broker.get('/api/v1/timers/jobs?limit=10');
    expect(json.rows.map((row: { timerKey: string }) => row.timerKey)).toEqual(['wake/2']);
  });

  it('locks: shows who holds what', async () => {
    await scene.goto('/locks');
    const row = scene.page.getByRole('row', { name: /door/ });
    await row.getByText('ana').waitFor();
    // Written by hand, with a time that is none.
    await scene.page
      .getByRole('row', { name: /window/ })
      .getByText('ben')
      .waitFor();
  });

  it('supervisors: attention first, pools in a drawer, metrics on demand', async () => {
    const { page } = scene;
    await scene.goto('/supervisors');
    await scene.text('1 silent for a minute or more').waitFor();
    await scene.text('2 workers short').waitFor();
    await scene.text('1 pools failing').waitFor();
    await scene.text('1 rows are no publication').waitFor();
    await button('clockless').waitFor();
    await button('Load queue metrics').click();
    await button('billing').click();
    await dialog().getByText('out of paper').waitFor();
    await dialog().getByText('0/s in, 0/s out').or(dialog().getByText('/s in')).first().waitFor();
    await page.getByPlaceholder('Search pools').fill('mail');
    await dialog().getByText('printers').waitFor({ state: 'detached' });
    await button('Close').click();
    await page.locator('input[name=namespace]').fill('elsewhere');
    await button('Apply').click();
    await scene.text('No supervisor published anything').waitFor();
  });

  it('traces: by name, an event, its message', async () => {
    await scene.goto('/traces');
    await button('order 17').click();
    await button('mailed').click();
    await dialog().getByText('"to": "ana"').waitFor();
    await scene.page.keyboard.press('Escape');
    await scene.page.locator('td.mono button.link').first().click();
    await dialog().getByText('Message id').waitFor();
    await scene.page.keyboard.press('Escape');
    await button('Clear').click();
    await button('order 17').waitFor();
  });

  it('workload: groups, goes into a group, keeps it in the address', async () => {
    const { page } = scene;
    await scene.goto('/workload');
    await button('By task').click();
    await button('mail').click();
    await page.waitForURL(/groupBy=queue/);
    await page.getByText('task: mail').waitFor();
    await button('jobs').waitFor();
    await button('Drop the task filter').click();
    await button('mail').waitFor();
  });

  it('cluster: shows the log, flips a switch after a question', async () => {
    const { broker } = scene;
    await scene.goto('/system');
    await scene.card('Replicated log').getByText('Committed / applied / durable').waitFor();
    const row = scene.page.locator('.row.spread', { hasText: 'Delivery of timers' });
    await row.getByRole('button', { name: 'Switch off' }).click();
    await confirm('Switch off');
    await row.getByRole('button', { name: 'Switch on' }).waitFor();
    expect((await broker.get('/api/v1/system/kv-timers')).json.timersFireEnabled).toBe(false);
    await row.getByRole('button', { name: 'Switch on' }).click();
    await confirm('Switch on');
    await row.getByRole('button', { name: 'Switch off' }).waitFor();
  });

  it('settings: saves lines, refuses crossed ones, resets, leaves what others keep there', async () => {
    const { broker, page } = scene;
    const stored = { defaults: { tint: 'blue' }, other: 1 };
    const put = { op: 'put', ns: 'queen.console', key: 'settings', value: stored, forever: true };
    await broker.post('/api/v1/kv', { operations: [put] });
    const kept = async () => (await broker.get('/api/v1/kv/queen.console/settings')).json.value;
    await scene.goto('/settings');
    await page.locator('input[name=lagWarnSeconds]').fill('400');
    await button('Save').click();
    await scene.text('must stay below red').waitFor();
    await page.locator('input[name=lagWarnSeconds]').fill('20');
    await button('Save').click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await kept()).toEqual({ defaults: { tint: 'blue', lagWarnSeconds: 20 }, other: 1 });
    await button('Reset').click();
    await confirm('Reset');
    await page.getByText('Reset', { exact: true }).nth(1).waitFor();
    expect(await kept()).toEqual({ defaults: { tint: 'blue' }, other: 1 });
  });

  it('the shell: finds queues, folds the navigation, keeps a custom range in the address', async () => {
    const { page } = scene;
    await scene.goto('/');
    await page.locator('input[name=find]').fill('job');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'jobs' }).waitFor();
    expect(await page.locator('input[name=search]').inputValue()).toBe('job');
    const navigation = page.getByRole('navigation');
    await navigation.getByRole('button', { name: /Analysis/ }).click();
    await navigation.getByRole('link', { name: 'Traces' }).waitFor({ state: 'detached' });
    await navigation.getByRole('button', { name: /Analysis/ }).click();
    await navigation.getByRole('link', { name: 'Workload' }).click();
    await button('Custom').click();
    await dialog().getByLabel('To (your time)').fill('2026-01-01T00:00');
    await confirm('Apply');
    await dialog().getByText('must lie before').waitFor();
    await dialog().getByLabel('From (your time)').fill('2025-12-31T00:00');
    await confirm('Apply');
    await page.waitForURL(/from=2025/);
    await page.reload();
    await page.getByRole('button', { name: 'Custom', pressed: true }).waitFor();
  });
}

function queueActions(scene: Scene): void {
  const dialog = () => scene.dialog();

  it('overview: rows of figures open and close; the counts are those of the broker', async () => {
    const { page } = scene;
    await scene.goto('/');
    await page.locator('.tile', { hasText: 'Completed' }).waitFor();
    await scene.card('Traffic').getByRole('button', { name: 'Collapse all' }).click();
    expect(await page.locator('.chart').count()).toBe(0);
    await scene
      .card('Traffic')
      .getByRole('button', { name: /Retention deletions/ })
      .click();
    await scene.card('Traffic').locator('.chart, .none').first().waitFor({ state: 'attached' });
    await scene
      .card('Nodes')
      .getByRole('button', { name: /Event loop/ })
      .waitFor();
  });

  it('queues: sorts, filters by labels, keeps the filters for the next visit', async () => {
    const { broker, page } = scene;
    await broker.post('/api/v1/configure', { queue: 'other' });
    await scene.goto('/queues');
    await page.locator('select[name=namespace]').selectOption('shop');
    await page.getByRole('link', { name: 'other' }).waitFor({ state: 'detached' });
    await page.locator('select[name=sort]').selectOption('Density');
    await page.getByRole('link', { name: 'jobs' }).click();
    await scene.heading('jobs').waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Queues', exact: true }).click();
    await page.getByRole('link', { name: 'jobs' }).waitFor();
    expect(await page.locator('select[name=namespace]').inputValue()).toBe('shop');
    await page.locator('select[name=namespace]').selectOption('');
  });

  it('queue: lines of its own, no such queue, delete', async () => {
    const { broker, page } = scene;
    await scene.goto('/queues/other');
    await scene.button('Lines').click();
    await dialog().locator('input[name=noReaderOk]').check();
    await dialog().getByRole('button', { name: 'Save' }).click();
    await dialog().waitFor({ state: 'detached' });
    const { json } = await broker.get('/api/v1/kv/queen.console/settings');
    expect(json.value.queues).toEqual({ other: { noReaderOk: true } });
    scene.causes(404, '/api/v1/status/queues/absent');
    await scene.goto('/queues/absent');
    await scene.text('This queue does not exist').waitFor();
    await scene.goto('/queues/other');
    await scene.button('Delete').click();
    await dialog().locator('input[name=typed]').fill('other');
    await dialog().getByRole('button', { name: 'Delete queue' }).click();
    await page.waitForURL(/\/queues$/);
    expect((await broker.get('/api/v1/resources/queues/other')).status).toBe(404);
  });
}

function messageActions(scene: Scene): void {
  const button = (name: string) => scene.button(name);
  const dialog = () => scene.dialog();

  it('messages: filters, searches the rows, pushes a copy', async () => {
    const { broker, page } = scene;
    await scene.goto('/messages?queue=jobs');
    await button('a').waitFor();
    await scene.text('Every message goes to 1 group').waitFor();
    await page.locator('input[name=partition]').fill('p1');
    await button('Apply').click();
    await button('a').waitFor({ state: 'detached' });
    await button('b').waitFor();
    await button('24h').click();
    expect(await page.locator('input[name=from]').inputValue()).not.toBe('');
    await page.getByPlaceholder('Search these rows').fill('"d"');
    await button('b').waitFor({ state: 'detached' });
    await page.getByPlaceholder('Search these rows').fill('');
    await button('b').click();
    await button('Push a copy').click();
    await dialog().last().getByRole('button', { name: 'Push', exact: true }).click();
    await dialog().last().getByText('queued', { exact: true }).waitFor();
    const { json } = await broker.get('/api/v1/messages?queue=jobs&partition=p1');
    expect(json.messages).toHaveLength(3);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await button('Clear').click();
    await button('a').waitFor();
  });

  it('dead letters: filters by cause, replays elsewhere, deletes the rest by criteria', async () => {
    const { broker, page } = scene;
    await scene.goto('/dlq?queue=jobs');
    await page.getByRole('button', { name: /no route to 17/ }).click();
    await button('a').click();
    await button('Copy as Markdown').waitFor();
    await dialog().getByRole('button', { name: 'Replay' }).click();
    await dialog().last().getByText('Send it elsewhere').click();
    await dialog().last().locator('input[name=targetQueue]').fill('again');
    expect(await dialog().last().getByRole('button', { name: 'Replay' }).isDisabled()).toBe(true);
    await dialog().last().locator('input[name=targetPartition]').fill('x');
    await dialog().last().getByRole('button', { name: 'Replay' }).click();
    await scene.text('Replayed to again / x').waitFor();
    await button('Delete all of jobs').click();
    await dialog().locator('input[name=typed]').fill('jobs');
    await dialog().getByRole('button', { name: 'Delete all' }).click();
    await scene.text('Deleted 3 dead letters').waitFor();
    expect((await broker.get('/api/v1/dlq')).json.total).toBe(0);
  });
}

function groupActions(scene: Scene): void {
  const button = (name: string) => scene.button(name);
  const dialog = () => scene.dialog();
  const lag = async (): Promise<number> => {
    const { json } = await scene.broker.get('/api/v1/consumer-groups/readers');
    const lanes = json.jobs.partitions as { offsetLag: number }[];
    return lanes.reduce((sum, { offsetLag }) => sum + offsetLag, 0);
  };

  it('groups: moves to now, to a time, one partition to its end, each after a question', async () => {
    const { page } = scene;
    await scene.goto('/consumers?group=readers');
    await button('readers').click();
    const move = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Move', exact: true }).click();
      await page.getByRole('button', { name: 'Move', exact: true }).waitFor({ state: 'detached' });
    };
    await dialog().getByLabel('A time, in your zone').fill('2020-01-01T00:00');
    await button('Move to time').click();
    await move();
    await scene.text('Moved 2 partitions').waitFor();
    expect(await lag()).toBe(5);
    await button('Skip p1 to its end').click();
    await move();
    await scene.text('Moved 1 partitions').waitFor();
    expect(await lag()).toBe(2);
    await button('Move to now').click();
    await move();
    await dialog().getByText('none').nth(1).waitFor();
    expect(await lag()).toBe(0);
  });

  it('groups: changes where new partitions start, deletes the group once its name was typed', async () => {
    const { broker } = scene;
    await dialog().getByLabel('A time, in your zone').fill('2020-01-01T00:00');
    await button('Start new partitions here').click();
    await button('Change subscription').click();
    await scene.text('New partitions start at that time').waitFor();
    const [row] = (await broker.get('/api/v1/consumer-groups')).json;
    expect(row).toMatchObject({ name: 'readers', subscriptionMode: 'timestamp' });
    await button('Delete everywhere').click();
    await dialog().locator('input[name=typed]').fill('readers');
    await button('Delete group').click();
    await scene.text('No consumer groups yet').waitFor();
    expect((await broker.get('/api/v1/consumer-groups')).json).toEqual([]);
  });
}

inBrowser('every action of the dashboard', suite);
