/** The single voter end to end: real log format, store, machine; the log lies on a simulated disk. */
import { GroupHarness } from '../../../test/support/group-harness.js';
import { asPush, hashOf, pushCommand } from '../../../test/support/group-commands.js';
import { WalDamageError } from '../wal/index.js';
import type { PopRequest } from './group.js';
import type { LocalGroup } from './local-group.js';
import type { Clock } from '../../common/clock.js';
import { systemClock } from '../../config/index.js';
import { CommandKind } from '../../machine/commands/index.js';
import { registerCommand } from '../../../test/support/group-commands.js';

async function push(h: GroupHarness, partition: string, ids: readonly string[]) {
  const command = pushCommand(
    'orders',
    partition,
    ids.map((id) => ({ transactionId: id, payload: `{"id":"${id}"}` })),
  );
  const [group] = asPush(await h.group.submit(command, h.soon())).groups;
  if (group === undefined) throw new Error('no group');
  return group;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

async function payloads(group: LocalGroup, partition: number, first: number, last: number) {
  const messages = await group.readMessages(partition, first, last);
  return messages.map((message) => [message.offset, textOf(message.payload)]);
}

describe('LocalGroup', () => {
  let h: GroupHarness;
  let aheadMs: number;

  beforeEach(async () => {
    aheadMs = 0;
    const clock: Clock = {
      nowMs: () => systemClock.nowMs(),
      monotonicMicros: () => systemClock.monotonicMicros() + aheadMs * 1000,
    };
    h = await GroupHarness.create({ clock });
  });

  afterEach(async () => {
    await h.remove();
  });

  it('leads after an entry of its own term is applied', () => {
    const status = h.group.status();
    expect(status).toMatchObject({ role: 'leader', leader: 1, term: 1, storageReady: true });
    expect(status.applied).toBeGreaterThanOrEqual(2);
  });

  it('answers a push with offsets and serves its bytes', async () => {
    const first = await push(h, 'p', ['a', 'b', 'c']);
    expect([...first.offsets]).toEqual([0, 1, 2]);
    const again = await push(h, 'p', ['b', 'd']);
    expect([...again.statuses]).toEqual([1, 0]);
    expect([...again.offsets]).toEqual([1, 3]);
    expect(await payloads(h.group, first.partitionId, 1, 3)).toEqual([
      [1, '{"id":"b"}'],
      [2, '{"id":"c"}'],
      [3, '{"id":"d"}'],
    ]);
  });

  it('packs what is submitted in one turn into few entries', async () => {
    const before = h.group.status().lastLog;
    await Promise.all(
      Array.from({ length: 500 }, (_, i) =>
        h.group.submit(
          pushCommand('q', `p${i % 7}`, [{ transactionId: `t${i}`, payload: 'x' }]),
          h.soon(),
        ),
      ),
    );
    expect(h.group.status().lastLog - before).toBeLessThanOrEqual(3);
  });

  it('keeps everything over a graceful restart', async () => {
    const { partitionId } = await push(h, 'p', ['a', 'b']);
    const { term } = h.group.status();
    await h.close();
    await h.open();
    expect(h.group.status().term).toBe(term + 1);
    expect(await payloads(h.group, partitionId, 0, 9)).toHaveLength(2);
    const again = await push(h, 'p', ['a', 'c']);
    expect([...again.statuses]).toEqual([1, 0]);
    expect([...again.offsets]).toEqual([0, 2]);
  });

  it('keeps everything acknowledged over a power loss', async () => {
    const { partitionId } = await push(h, 'p', ['a', 'b']);
    await h.crash();
    await h.open();
    expect(await payloads(h.group, partitionId, 0, 9)).toHaveLength(2);
  });

  it('times out without a timer per call and drops the late outcome', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    h.disk!.slowness = () => held;
    const { lastLog } = h.group.status();
    const one = (id: string) => pushCommand('q', 'p', [{ transactionId: id, payload: 'x' }]);
    const gone = h.group.submit(one('a'), h.soon(60_000));
    const kept = h.group.submit(one('b'), h.soon(3_600_000));
    try {
      // However long the machine stands still, the deadline does not come before the write.
      while (h.group.status().lastLog === lastLog) await new Promise(setImmediate);
      aheadMs = 120_000;
      await expect(gone).rejects.toMatchObject({ code: 'timeout' });
    } finally {
      h.disk!.slowness = undefined;
      release();
    }
    // What timed out was written all the same, before the other.
    const [group] = asPush(await kept).groups;
    expect([...group!.offsets]).toEqual([1]);
    expect(h.group.tables.totals.messagesAppended).toBe(2);
  });

  it('barriers wait for what was submitted before them', async () => {
    const submitted = push(h, 'p', ['a']);
    await h.group.readBarrier(h.soon());
    expect(h.group.tables.totals.messagesAppended).toBe(1);
    await submitted;
  });

  it('resolves ids inside a span and below it', async () => {
    const { partitionId } = await push(h, 'p', ['a', 'b', 'c', 'd']);
    const hashes = Buffer.concat([hashOf('a'), hashOf('d'), hashOf('zz')]);
    const found = await h.group.findIds(partitionId, hashes, { first: 2, last: 3 });
    expect([...found.offsets]).toEqual([0, 3, -1]);
    expect([...found.bases]).toEqual([0, 0, -1]);
  });

  it('stops for good when the log cannot be written; nobody is told success', async () => {
    await push(h, 'p', ['a']);
    h.disk?.failAfter('fdatasync', 1, 'EIO');
    await expect(push(h, 'p', ['b'])).rejects.toMatchObject({ code: 'retry' });
    expect(h.group.status()).toMatchObject({ role: 'stopped', storageReady: false, leader: null });
    expect(h.lines.some((line) => line.event === 'raft log writer poisoned; node stops')).toBe(
      true,
    );
    await expect(push(h, 'p', ['c'])).rejects.toMatchObject({ code: 'retry' });
    await h.crash(false);
    await h.open();
    const after = await push(h, 'p', ['c']);
    expect(after.offsets[0]).toBeGreaterThanOrEqual(1);
  });

  it('tells everybody who waits to retry when it stops', async () => {
    const answers = Array.from({ length: 20 }, (_, i) =>
      h.group
        .submit(pushCommand('q', 'p', [{ transactionId: `t${i}`, payload: 'x' }]), h.soon())
        .then(
          () => 'ok',
          (error: { code: string }) => error.code,
        ),
    );
    await h.close();
    const seen = new Set(await Promise.all(answers));
    for (const answer of seen) expect(['ok', 'retry']).toContain(answer);
    await h.open();
  });

  it('refuses a second process on the same directory', async () => {
    const { openLocalGroup } = await import('../open-local-group.js');
    await expect(openLocalGroup({ directory: h.directory, nodeId: 1 })).rejects.toThrow('in use');
  });

  it('registers through the log', async () => {
    const outcome = await h.group.submit(registerCommand('orders', 'g'), h.soon());
    expect(outcome).toMatchObject({ kind: CommandKind.Register });
  });

  it('refuses growing writes and waits while the overlay is full, then goes on', async () => {
    await h.remove();
    h = await GroupHarness.create({ overlayMaxBytes: 64 * 1024, checkpointMs: 5 });
    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        // Spread over turns, so that some meet the full overlay.
        for (let turn = 0; turn < i; turn += 1) await new Promise(setImmediate);
        const messages = Array.from({ length: 100 }, (_u, j) => ({
          transactionId: `t${i}-${j}`,
          payload: 'x',
        }));
        return h.group.submit(pushCommand('q', 'p', messages), h.soon()).then(
          () => 'ok',
          (error: { code: string }) => error.code,
        );
      }),
    );
    const ok = answers.filter((answer) => answer === 'ok').length;
    expect(ok).toBeGreaterThan(0);
    expect(answers.every((answer) => answer === 'ok' || answer === 'overloaded')).toBe(true);
    expect(h.group.tables.totals.messagesAppended).toBe(ok * 100);
    expect(h.group.status().role).toBe('leader');
  });

  it('gives a view at one applied index that later writes do not touch', async () => {
    await push(h, 'p', ['a']);
    const view = await h.group.view();
    await push(h, 'p', ['b']);
    const range = { gte: Uint8Array.of(8), lt: Uint8Array.of(9) };
    const rows: number[] = [];
    for await (const [key] of view.iterate(range)) rows.push(key.length);
    await view.close();
    expect(rows).toHaveLength(1);
    expect(view.appliedIndex).toBeLessThan(h.group.status().applied);
  });

  it('answers parked pops when the log meets damage, and grants nothing more', async () => {
    const parked: ((error: Error) => void)[] = [];
    h.group.attachDispatcher({
      start: () => undefined,
      stop: () => {
        for (const refuse of parked.splice(0)) refuse(new Error('sent away'));
      },
      pop: () => new Promise((_, reject) => parked.push(reject)),
    });
    const pop = h.group.pop({} as PopRequest, h.soon());
    const ended = expect(pop).rejects.toThrow('sent away');
    h.group.damaged(new WalDamageError({ file: 'f', byteOffset: 1, reason: 'bad', cure: 'c' }));
    expect(parked).toEqual([]);
    await ended;
  });

  it('tells events after the entry and survives a listener that throws', async () => {
    const seen: string[] = [];
    h.group.listen({
      appended: () => {
        throw new Error('a bug of a listener');
      },
    });
    const stop = h.group.listen({ appended: () => seen.push('appended') });
    await push(h, 'p', ['a']);
    stop();
    await push(h, 'p', ['b']);
    expect(seen).toEqual(['appended']);
    expect(h.lines.some((line) => line.event === 'event listener failed')).toBe(true);
  });
});
