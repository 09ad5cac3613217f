/**
 * The lesser actions of the pages (admin.md §2.3) in a real browser: drawers, single rows, pages of a
 * list, copies, lines of one queue, what a question leaves alone when it is cancelled. Each is judged by
 * what the broker holds afterwards. The rest: actions.spec.ts, membership: test/cluster.
 */
import type { TestBroker } from '../support/broker.js';
import { inBrowser, type Scene } from './scene.js';

jest.setTimeout(180_000);

const DEAD = ['d0', 'd1', 'd2', 'd3'];
/** More than a page of each list. */
const PARTITIONS = 60;
const SUPERVISORS = 501;

async function ok(broker: TestBroker, path: string, body: object): Promise<void> {
  const { status, text } = await broker.post(`/api/v1/${path}`, body);
  if (status >= 300) throw new Error(`${path}: ${text}`);
}

async function deadLetters(broker: TestBroker): Promise<void> {
  const items = DEAD.map((transactionId) => ({ queue: 'dead', transactionId, payload: { n: 1 } }));
  await ok(broker, 'push', { items });
  const { json } = await broker.get(
    '/api/v1/pop/queue/dead?consumerGroup=g&subscriptionMode=all&batch=10',
  );
  const acknowledgments = json.messages.map((message: Record<string, string>) => ({
    ...{ transactionId: message['transactionId'], partitionId: message['partitionId'] },
    ...{ leaseId: message['leaseId'], status: 'dlq', error: 'broken' },
  }));
  await ok(broker, 'ack/batch', { consumerGroup: 'g', acknowledgments });
}

async function seed(broker: TestBroker): Promise<void> {
  await deadLetters(broker);
  const items = Array.from({ length: PARTITIONS }, (_, i) => {
    return { queue: 'wide', partition: `p${i}`, transactionId: `w${i}`, payload: i };
  });
  await ok(broker, 'push', { items });
  for (const queue of ['wide', 'dead']) {
    await broker.get(`/api/v1/pop/queue/${queue}?consumerGroup=both&subscriptionMode=all`);
  }
  const keys = Array.from({ length: SUPERVISORS }, (_, i) => {
    const key = `team-${String(i).padStart(3, '0')}/s`;
    const value = { heartbeatAt: new Date().toISOString(), pools: [] };
    return { op: 'put', ns: 'queen-supervisor', key, value, forever: true };
  });
  for (let at = 0; at < keys.length; at += 100) {
    await ok(broker, 'kv', { operations: keys.slice(at, at + 100) });
  }
  await ok(broker, 'locks', [
    { op: 'acquire', name: 'door', ttlSeconds: 300, owner: 'ana' },
    { op: 'acquire', name: 'gate', ttlSeconds: 300, owner: 'ben' },
  ]);
  const timer = { op: 'schedule', queue: 'wide', delayMs: 3_600_000, payload: 'MQ==' };
  await ok(broker, 'timers', { operations: [{ ...timer, timerKey: 'wake', txn: 'wake' }] });
}

function suite(scene: Scene): void {
  const button = (name: string) => scene.button(name);
  const dialog = () => scene.dialog();
  const lettersLeft = async (): Promise<string[]> => {
    const { json } = await scene.broker.get('/api/v1/dlq?queue=dead');
    const rows = json.messages as { readonly transactionId: string }[];
    return rows.map(({ transactionId }) => transactionId).sort();
  };

  beforeAll(() => seed(scene.broker));

  it('message drawer: replays a dead letter, deletes another, leaves a third when cancelled', async () => {
    await scene.goto('/messages?queue=dead&status=dead_letter');
    await button('d0').click();
    await dialog().getByRole('button', { name: 'Replay' }).click();
    await dialog().last().getByRole('button', { name: 'Replay' }).click();
    await scene.page.getByText('Replayed', { exact: true }).waitFor();
    await button('d0').waitFor({ state: 'detached' });
    await button('d1').click();
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await dialog().last().getByRole('button', { name: 'Delete' }).click();
    await scene.page.getByText('Deleted', { exact: true }).waitFor();
    await button('d2').click();
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await button('Cancel').click();
    await scene.page.keyboard.press('Escape');
    await button('d2').waitFor();
    expect(await lettersLeft()).toEqual(['d2', 'd3']);
  });

  it('dead-letter drawer: copies text and payload, deletes one', async () => {
    const { page } = scene;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const copied = (): Promise<unknown> => page.evaluate('navigator.clipboard.readText()');
    await scene.goto('/dlq?queue=dead');
    await button('d2').click();
    await button('Copy as Markdown').click();
    // At once: it goes by itself after four seconds. The drawer does not cover it.
    const toast = page.locator('.toast', { hasText: 'Copied as Markdown' });
    await toast.getByRole('button', { name: 'Dismiss' }).click();
    expect(await copied()).toContain('broken');
    await button('Copy').first().click();
    await page.getByText('Copied', { exact: true }).waitFor();
    expect(JSON.parse(String(await copied()))).toEqual({ n: 1 });
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await dialog().last().getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Deleted', { exact: true }).waitFor();
    await button('d2').waitFor({ state: 'detached' });
    expect(await lettersLeft()).toEqual(['d3']);
  });

  it('dead letters: filters by queue and group', async () => {
    const { page } = scene;
    await scene.goto('/dlq');
    await button('Replay d3').waitFor();
    await page.locator('input[name=consumerGroup]').fill('nobody');
    await button('Apply').click();
    await scene.text('What fails for good appears here.').waitFor();
    await page.locator('input[name=consumerGroup]').fill('g');
    await page.locator('input[name=queue]').fill('dead');
    await button('Apply').click();
    await button('Replay d3').waitFor();
  });

  it('messages: goes a page on and back, reloads, filters by status', async () => {
    const { broker, page } = scene;
    await scene.goto('/messages?queue=wide');
    await button('w0').or(button('w59')).first().waitFor();
    expect(await page.locator('tbody tr').count()).toBe(50);
    await button('Next').click();
    await page.locator('tbody tr').nth(10).waitFor({ state: 'detached' });
    expect(await page.locator('tbody tr').count()).toBe(PARTITIONS - 50);
    expect(await button('Next').isDisabled()).toBe(true);
    await button('Previous').click();
    await page.locator('tbody tr').nth(49).waitFor();
    await ok(broker, 'push', { items: [{ queue: 'wide', transactionId: 'late', payload: 1 }] });
    await button('Reload').click();
    await button('late').waitFor();
    await page.locator('select[name=status]').selectOption('completed');
    await button('Apply').click();
    await scene.text('No messages here').waitFor();
  });

  it('queue: shows further partitions, searches them, pushes a message', async () => {
    const { broker, page } = scene;
    await scene.goto('/queues/wide');
    const lanes = scene.card('Partitions').locator('tbody tr');
    await lanes.nth(49).waitFor();
    expect(await lanes.count()).toBe(50);
    await scene
      .card('Partitions')
      .getByRole('button', { name: /^Show \d+ more$/ })
      .click();
    await lanes.nth(PARTITIONS).waitFor();
    await page.getByLabel('Search partitions').fill('p59');
    await lanes.nth(1).waitFor({ state: 'detached' });
    await button('Push message').click();
    await dialog().locator('input[name=transactionId]').fill('from-detail');
    await dialog().getByRole('button', { name: 'Push', exact: true }).click();
    await dialog().getByText('queued', { exact: true }).waitFor();
    const { json } = await broker.get('/api/v1/messages?queue=wide&limit=1');
    expect(json.messages[0].transactionId).toBe('from-detail');
  });

  it('queues: edits a queue from its row', async () => {
    await scene.goto('/queues');
    await button('Edit dead').click();
    await dialog().locator('input[name=retryLimit]').fill('9');
    await button('Save changes').click();
    await dialog().waitFor({ state: 'detached' });
    const { json } = await scene.broker.get('/api/v1/resources/queues/dead');
    expect(json.options.retryLimit).toBe(9);
  });

  it('groups: deletes one on a single queue', async () => {
    const { broker, page } = scene;
    await scene.goto('/consumers');
    await page.locator('input[name=queue]').fill('dead');
    await page.getByRole('row', { name: /both/ }).getByRole('button', { name: 'both' }).click();
    await button('Delete here').click();
    await dialog().locator('input[name=typed]').fill('both');
    await button('Delete group').click();
    await page.getByRole('row', { name: /both/ }).waitFor({ state: 'detached' });
    const { json } = await broker.get('/api/v1/consumer-groups/both');
    expect(Object.keys(json)).toEqual(['wide']);
    await page.locator('input[name=queue]').fill('');
  });

  it('timers: cancels one from its row', async () => {
    await scene.goto('/timers?queue=wide');
    await button('Cancel wake').click();
    await dialog().getByRole('button', { name: 'Cancel timer' }).click();
    await scene.text('No timers on this queue').waitFor();
    expect((await scene.broker.get('/api/v1/timers/wide?limit=10')).json.rows).toEqual([]);
  });

  it('locks: lists by the beginning of a name, and again', async () => {
    const { broker, page } = scene;
    await scene.goto('/locks');
    await page.getByRole('row', { name: /gate/ }).waitFor();
    await page.locator('input[name=prefix]').fill('do');
    await button('List').click();
    await page.getByRole('row', { name: /gate/ }).waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /door/ }).waitFor();
    await ok(broker, 'locks', [{ op: 'acquire', name: 'dock', ttlSeconds: 300, owner: 'cleo' }]);
    await button('Reload').click();
    await page.getByRole('row', { name: /cleo/ }).waitFor();
  });

  it('KV: goes a page on and back, reloads', async () => {
    const { broker, page } = scene;
    await scene.goto('/kv');
    await page.getByRole('button', { name: /^queen-supervisor/ }).click();
    await button('team-000/s').waitFor();
    await button('Next').click();
    await button('team-100/s').waitFor();
    await button('Previous').click();
    await button('team-000/s').waitFor();
    const put = { op: 'put', ns: 'queen-supervisor', key: 'a', value: 1, forever: true };
    await ok(broker, 'kv', { operations: [put] });
    await button('Reload').click();
    await button('a').waitFor();
    await ok(broker, 'kv', { operations: [{ op: 'delete', ns: 'queen-supervisor', key: 'a' }] });
  });

  it('supervisors: loads more than a page, finds one', async () => {
    const { page } = scene;
    await scene.goto('/supervisors');
    await scene.text('500 groups').waitFor();
    await button('Load more').click();
    await scene.text('501 groups').waitFor();
    await page.locator('input[name=search]').last().fill('team-500');
    await button('team-500').waitFor();
    await button('team-000').waitFor({ state: 'detached' });
  });

  it('settings: lines of one queue, chosen again from the list, reset', async () => {
    const { broker, page } = scene;
    const kept = async () => (await broker.get('/api/v1/kv/queen.console/settings')).json.value;
    await scene.goto('/settings');
    await page.locator('input[name=queue]').fill('wide');
    await page.locator('input[name=noReaderOk]').check();
    await page.locator('input[name=lagWarnSeconds]').fill('5');
    await button('Save').click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect((await kept()).queues).toEqual({ wide: { lagWarnSeconds: 5, noReaderOk: true } });
    await page.reload();
    await button('wide').click();
    await page.locator('input[name=noReaderOk]').waitFor();
    expect(await page.locator('input[name=lagWarnSeconds]').inputValue()).toBe('5');
    await button('Reset').click();
    await dialog().getByRole('button', { name: 'Reset' }).click();
    await button('wide').waitFor({ state: 'detached' });
    expect((await kept()).queues ?? {}).toEqual({});
  });

  it('traces: searches a name that was typed', async () => {
    const { broker, page } = scene;
    await ok(broker, 'traces', { transactionId: 'w1', traceNames: ['typed'], eventType: 'seen' });
    await scene.goto('/traces');
    await page.locator('input[name=name]').fill('typed');
    await button('Search').click();
    await button('seen').waitFor();
    await button('Clear').click();
    await button('typed').waitFor();
  });

  it.each([
    ['Key-value store', 'kv-timers', 'kvEnabled'],
    ['Scheduling of timers', 'kv-timers', 'timersScheduleEnabled'],
    ['Ephemeral queues', 'ephemeral', 'ephemeralEnabled'],
  ])('cluster: the switch %s goes off and on again', async (label, route, field) => {
    const { broker, page } = scene;
    await scene.goto('/system');
    const row = page.locator('.row.spread', { hasText: label });
    for (const [verb, next, isOn] of [
      ['Switch off', 'Switch on', false],
      ['Switch on', 'Switch off', true],
    ] as const) {
      await row.getByRole('button', { name: verb }).click();
      await dialog().getByRole('button', { name: verb }).click();
      await row.getByRole('button', { name: next }).waitFor();
      const { json } = await broker.get(`/api/v1/system/${route}`);
      expect(json[field]).toBe(isOn);
    }
  });
}

inBrowser('small actions of the dashboard', suite);
