/**
 * Several raft groups in one process: tenants live apart, everything of theirs is in their group, what
 * is node-wide holds everywhere, and a restart, a backup and a restore bring all of it back.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Groups } from '../../src/raft/index.js';
import { runBackup, runRestore } from '../../src/lifecycle/backup-commands.js';
import { TestBroker, type HttpAnswer } from '../support/broker.js';

const tenant = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;
const PINNED = [tenant(1), tenant(2), tenant(3)] as const;
const ENV = {
  QUEEN_RAFT_GROUPS: '3',
  QUEEN_TENANT_GROUPS: PINNED.map((id, group) => `${id}=${group}`).join(','),
  QUEEN_TENANCY_HEADER: 'true',
  QUEEN_KV_TRUSTED_PROXY: 'true',
  QUEEN_KV_REQUIRE_GRANT: 'false',
};

let broker: TestBroker;
let temporary: string;

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'queen-groups-'));
  broker = await TestBroker.start(ENV);
  for (const id of PINNED) await push(id, `first of ${id}`);
});

afterAll(async () => {
  await broker.stop();
  await rm(temporary, { recursive: true, force: true });
});

function as(id: string, method: string, path: string, body?: unknown): Promise<HttpAnswer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  return broker.send(method, path, text, { headers: { 'x-queen-tenant': id } });
}

async function push(id: string, transactionId: string): Promise<void> {
  const items = [{ queue: 'q', partition: 'p', transactionId, payload: { transactionId } }];
  expect((await as(id, 'POST', '/api/v1/push', { items })).status).toBe(201);
}

async function messages(id: string): Promise<string[]> {
  const { json } = await as(id, 'GET', '/api/v1/messages?queue=q');
  return (json as { messages: { transactionId: string }[] }).messages.map(
    ({ transactionId }) => transactionId,
  );
}

const groups = (): ReturnType<Groups['all']> => broker.nest.get(Groups).all();

it('keeps a tenant in its own group alone', async () => {
  for (const [group, id] of PINNED.entries()) {
    expect(await messages(id)).toEqual([`first of ${id}`]);
    const queues = groups().map(({ tables }) => tables.names.tenantUuids().length);
    expect(queues).toEqual([1, 1, 1]);
    expect(
      groups()
        [group]?.tables.queues.live()
        .map(({ name }) => name),
    ).toEqual(['q']);
  }
  expect(existsSync(join(broker.directory, 'groups', 'g2', 'wal'))).toBe(true);
});

it('shows the groups, and one of them when it is asked for', async () => {
  const { json } = await broker.get('/api/v1/raft/status');
  expect(json.groups).toMatchObject([0, 1, 2].map((group) => ({ group, state: 'leader' })));
  for (const group of [1, 2]) {
    const one = (await broker.get(`/api/v1/raft/status?group=${group}`)).json;
    expect(one.lastLogIndex).toBe(groups()[group]?.status().lastLog);
    expect((await broker.get(`/api/v1/raft/members?group=${group}`)).status).toBe(200);
    expect((await broker.get(`/api/v1/raft/liveness?group=${group}`)).status).toBe(200);
  }
  const exposition = (await broker.get('/metrics/prometheus')).text;
  expect(exposition).toMatch(/^queen_raft_log_fsync_seconds_count\{group="2"\} [1-9]/m);
  expect(exposition).toMatch(/^queen_raft_retained_messages\{group="1"\} 1$/m);
  expect((await broker.get('/api/v1/system/shared-state')).json).toMatchObject({ queues: 3 });
});

it('turns a switch in every group', async () => {
  await broker.post('/api/v1/system/kv-timers', { timersFire: false });
  const fires = (): boolean[] => groups().map(({ tables }) => tables.controls.isOn('timersFire'));
  expect(fires()).toEqual([false, false, false]);
  await broker.restart();
  expect(fires()).toEqual([false, false, false]);
  await broker.post('/api/v1/system/kv-timers', { timersFire: true });
  expect(fires()).toEqual([true, true, true]);
});

it('counts the minute rows of every group', async () => {
  for (const id of PINNED) await push(id, `counted for ${id}`);
  const { RowCollector } = await import('../../src/admin/rows/row-collector.service.js');
  broker.nest.get(RowCollector).flush();
  const pushed = await Promise.all(
    PINNED.map(async (id) => (await as(id, 'GET', '/api/v1/analytics/queue-ops?queue=q')).text),
  );
  for (const text of pushed) expect(text).toContain('"pushMessages"');
  const frame = broker.nest.get(RowCollector).frames.last;
  expect([...(frame?.queues.values() ?? [])].map(({ name }) => name)).toEqual(['q', 'q', 'q']);
});

it('knows what it was told, after a restart', async () => {
  const before = await Promise.all(PINNED.map((id) => messages(id)));
  await broker.restart();
  expect(await Promise.all(PINNED.map((id) => messages(id)))).toEqual(before);
  const items = [
    { queue: 'q', partition: 'p', transactionId: `first of ${PINNED[2]}`, payload: 1 },
  ];
  const again = await as(PINNED[2], 'POST', '/api/v1/push', { items });
  expect(again.json).toMatchObject([{ status: 'duplicate' }]);
});

it('has backups and restores of all groups, and never of a part', async () => {
  const to = join(temporary, 'backup');
  const directory = join(temporary, 'restored');
  await command(() => runBackup(['--to', to, '--url', broker.url]));
  for (const group of ['9', '64', 'x', '-1', '1.0', '1e0', '0x1', '1'.repeat(400)]) {
    const answer = await broker.get(`/api/v1/system/backup?group=${group}`);
    expect([group, answer.status, answer.json.code]).toEqual([group, 400, 'bad_request']);
  }

  const wrong = await command(() => restoreInto(directory, '1'), 1);
  expect(wrong).toContain('holds 3 raft groups and QUEEN_RAFT_GROUPS is 1');
  await command(() => restoreInto(directory, '3'));
  const before = await Promise.all(PINNED.map((id) => messages(id)));
  await broker.restart({ ...ENV, QUEEN_RAFT_DIR: directory });
  expect(await Promise.all(PINNED.map((id) => messages(id)))).toEqual(before);
  await broker.restart(ENV);

  // Until the number of groups is written a directory is not whole.
  await rm(join(directory, 'raft-groups'));
  await expect(TestBroker.start({ ...ENV, QUEEN_RAFT_DIR: directory })).rejects.toThrow(
    'was only partly restored',
  );
});

it.each([
  [{ QUEEN_RAFT_GROUPS: '1', QUEEN_TENANT_GROUPS: '' }, 'holds 3 raft groups'],
  [{ QUEEN_RAFT_GROUPS: '4' }, 'start it with QUEEN_RAFT_GROUPS=3'],
  [
    { QUEEN_TENANT_GROUPS: `${PINNED[0]}=1,${PINNED[1]}=1,${PINNED[2]}=2` },
    `set QUEEN_TENANT_GROUPS=${PINNED[0]}=0 on every node`,
  ],
])('is refused with %j', async (env, text) => {
  const own = { QUEEN_RAFT_DIR: join(temporary, `refused-${text.length}`) };
  const other = await TestBroker.start({ ...ENV, ...own });
  try {
    const headers = { 'x-queen-tenant': PINNED[0] };
    const body = JSON.stringify({ items: [{ queue: 'q', payload: 1 }] });
    expect((await other.send('POST', '/api/v1/push', body, { headers })).status).toBe(201);
    await expect(other.restart({ ...ENV, ...own, ...env })).rejects.toThrow(text);
    await other.restart({ ...ENV, ...own });
  } finally {
    await other.stop();
  }
});

it('refuses a directory of one group, which opens as ever', async () => {
  const own = { QUEEN_RAFT_DIR: join(temporary, 'single') };
  const single = await TestBroker.start(own);
  try {
    await expect(single.restart({ ...own, QUEEN_RAFT_GROUPS: '2' })).rejects.toThrow(
      'holds one raft group and QUEEN_RAFT_GROUPS is 2',
    );
    await single.restart(own);
    expect(existsSync(join(own.QUEEN_RAFT_DIR, 'raft-groups'))).toBe(false);
    expect((await single.get('/api/v1/raft/status')).json).not.toHaveProperty('groups');
  } finally {
    await single.stop();
  }
});

/** Runs one of the commands as the command line does; its text. */
async function command(run: () => Promise<void>, code = 0): Promise<string> {
  const texts: string[] = [];
  const keep = (text: unknown): boolean => texts.push(String(text)) > 0;
  const spies = [
    jest.spyOn(process.stdout, 'write').mockImplementation(keep),
    jest.spyOn(process.stderr, 'write').mockImplementation(keep),
  ];
  try {
    await run();
    expect({ code: process.exitCode, text: texts.join('') }).toMatchObject({ code });
    return texts.join('');
  } finally {
    for (const spy of spies) spy.mockRestore();
    process.exitCode = 0;
  }
}

async function restoreInto(directory: string, count: string): Promise<void> {
  const before = { ...process.env };
  Object.assign(process.env, { QUEEN_RAFT_DIR: directory, QUEEN_RAFT_GROUPS: count });
  try {
    await runRestore(['--from', join(temporary, 'backup')]);
  } finally {
    process.env = before;
  }
}
