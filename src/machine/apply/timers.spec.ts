/** Timers at apply (state.md §2): verdicts, firing, backoff, dead letters, restart, determinism. */
import { MachineHarness, SECOND, TENANT } from '../../../test/support/machine-harness.js';
import { RULES, TimerScene } from '../../../test/support/timer-scene.js';
import { murmur3x128Into } from '../../common/murmur3-128.js';
import { encodeUtf8 } from '../../common/utf8.js';
import { checkCommand, encodeConfigure, encodeTimers } from '../commands/index.js';
import { deadLetters } from '../../../test/support/ack-scene.js';
import { AppendRowView } from '../tables/append-row.js';
import { KEYSPACE } from '../tables/keyspaces.js';
import { MAX_INLINE_PAYLOAD_BYTES, isInline } from '../tables/timer-row.js';
import { implicitOptions } from './queues.js';

const statuses = (results: readonly { readonly status: string }[]): string[] =>
  results.map(({ status }) => status);

describe('schedule and cancel', () => {
  it.each<[string, (scene: TimerScene) => readonly { readonly status: string }[], string]>([
    ['a new key', (scene) => scene.run(scene.schedule('k', 5)), 'scheduled'],
    ['a pending key', (scene) => scene.run(scene.schedule('old', 5)), 'rescheduled'],
    [
      'the same key on another queue',
      (s) => s.run(s.schedule('old', 5, { queue: 'b' })),
      'scheduled',
    ],
    ['cancel of a pending key', (scene) => scene.run(scene.cancel('old')), 'cancelled'],
    ['cancel of nothing', (scene) => scene.run(scene.cancel('k')), 'absent'],
    ['cancel on another queue', (scene) => scene.run(scene.cancel('old', 'b')), 'absent'],
    ['due at once', (scene) => scene.run(scene.schedule('k', 0)), 'scheduled'],
    ['rescheduled to now', (scene) => scene.run(scene.schedule('old', -1)), 'rescheduled'],
  ])('%s', (_name, act, expected) => {
    const scene = new TimerScene();
    scene.run(scene.schedule('old', 60));
    expect(statuses(act(scene))).toEqual([expected]);
  });

  it('delivers after the delay from the log clock, never before the epoch', () => {
    const scene = new TimerScene();
    const { now } = scene.harness;
    const results = scene.run(scene.schedule('a', 1.5), scene.schedule('b', -4e9));
    expect(results.map(({ deliverAt }) => deliverAt)).toEqual([now + 1.5 * SECOND, 0]);
  });

  it('keeps only createdAt at a reschedule', () => {
    const scene = new TimerScene();
    scene.run(scene.schedule('k', 1, { txn: 'one', partition: 'x' }));
    const first = scene.row('k')!;
    scene.harness.advance(2);
    scene.fail('k', 'name_too_long');
    expect(scene.row('k')).toMatchObject({ attempts: 1, lastError: 'name_too_long: no' });
    scene.run(scene.schedule('k', 9, { txn: 'two', partition: 'y' }));
    const second = scene.row('k')!;
    expect(second).toMatchObject({ partition: 'y', attempts: 0, visibleAt: 0, lastError: null });
    expect(second.createdAt).toBe(first.createdAt);
    expect(second.updatedAt).toBeGreaterThan(first.updatedAt);
    expect(second.messageId).not.toEqual(first.messageId);
    expect(scene.due()).toEqual([['k', expect.closeTo(9, 3)]]);
  });

  it('answers a cancel with the transactionId of what it removed', () => {
    const scene = new TimerScene();
    scene.run(scene.schedule('k', 5, { txn: 'the-txn' }));
    expect(scene.run(scene.cancel('k'))[0]!.transactionId).toEqual(encodeUtf8('the-txn'));
    expect([scene.timers(), scene.due(), scene.count()]).toEqual([0, [], 0]);
  });

  it('counts the timers of the tenant', () => {
    const scene = new TimerScene();
    scene.run(scene.schedule('a', 5), scene.schedule('b', 5), scene.schedule('c', 0));
    expect(scene.count()).toBe(2);
    scene.run(scene.schedule('a', 6), scene.cancel('b'));
    expect(scene.count()).toBe(1);
  });

  it('leaves other tenants alone', () => {
    const scene = new TimerScene();
    scene.run(scene.schedule('k', 5));
    const other = encodeTimers(new Uint8Array(16).fill(2), [scene.cancel('k')]);
    expect(scene.harness.run(other)).toMatchObject({ results: [{ status: 'absent' }] });
    expect(scene.timers()).toBe(1);
  });

  it.each([
    [MAX_INLINE_PAYLOAD_BYTES, true],
    [MAX_INLINE_PAYLOAD_BYTES + 1, false],
  ])('a payload of %d bytes stands in the row: %p', (bytes, inline) => {
    const scene = new TimerScene();
    scene.run(scene.schedule('k', 5, { payload: 'x'.repeat(bytes) }));
    const row = scene.row('k')!;
    expect(isInline(row)).toBe(inline);
    expect(row.record.length).toBeLessThanOrEqual(MAX_INLINE_PAYLOAD_BYTES + 32);
    expect(row.place.entryIndex).toBe(scene.harness.machine.appliedIndex);
  });

  it('asks for another preparation when the encryption of a queue changed', () => {
    const scene = new TimerScene();
    scene.harness.push(['m']);
    const defaults = {
      ...implicitOptions('orders', { leaseTime: 1, retryLimit: 1, dedupWindowSeconds: 1 }),
    };
    const options = { encryptionEnabled: true };
    scene.harness.run(
      encodeConfigure(TENANT, { queue: 'orders', replace: false, defaults, options }),
    );
    const plain = [
      scene.schedule('ok', 5, { queue: 'b' }),
      scene.schedule('k', 5, { optionsVersion: 1 }),
    ];
    const before = scene.harness.machine.digest();
    expect(scene.outcome(...plain)).toEqual({ kind: 50, verdict: 'reprepare', results: [] });
    expect(scene.timers()).toBe(0);
    expect(before).not.toEqual(scene.harness.machine.digest());
    // Whoever knew the current options is right, with a key or without one.
    expect(statuses(scene.run(scene.schedule('k', 5, { optionsVersion: 2 })))).toEqual([
      'scheduled',
    ]);
    const sealed = scene.schedule('l', 5, { optionsVersion: 1, encrypted: true });
    expect(statuses(scene.run(sealed))).toEqual(['scheduled']);
  });
});

describe('what a command makes due', () => {
  it('is appended in the same entry, in order of due time, then key', () => {
    const scene = new TimerScene();
    const ops = [
      scene.schedule('b', -1, { txn: 't-b' }),
      scene.schedule('later', 1, { txn: 't-later' }),
      scene.schedule('a', -1, { txn: 't-a' }),
      scene.schedule('first', -2, { txn: 't-first' }),
    ];
    const { events } = scene.harness.entry(encodeTimers(TENANT, ops));
    expect(scene.appended()).toBe(3);
    expect(events.filter(([name]) => name === 'appended')).toHaveLength(3);
    expect(transactionIds(scene)).toEqual(['t-first', 't-a', 't-b'].map(hashText));
    expect(scene.due()).toEqual([['later', 1]]);
  });

  it('appends nothing when the txn repeats, and is gone all the same', () => {
    const scene = new TimerScene();
    scene.harness.push(['dup']);
    scene.run(scene.schedule('k', 0, { txn: 'dup' }));
    expect([scene.appended(), scene.timers()]).toEqual([1, 0]);
  });

  it('fires two of one txn once while the dedup window is on', () => {
    const scene = new TimerScene();
    scene.run(scene.schedule('a', 0, { txn: 'x' }), scene.schedule('b', 0, { txn: 'x' }));
    expect(scene.appended()).toBe(1);
  });

  it('replaces a pending timer that is rescheduled to now', () => {
    const scene = new TimerScene();
    scene.run(scene.schedule('k', 60, { txn: 'old' }));
    scene.run(scene.schedule('k', 0, { txn: 'new' }));
    expect([scene.timers(), scene.due(), scene.count()]).toEqual([0, [], 0]);
    expect(transactionIds(scene)).toEqual([hashText('new')]);
  });
});

describe('fire', () => {
  function pending(...keys: string[]): TimerScene {
    const scene = new TimerScene();
    scene.run(...keys.map((key) => scene.schedule(key, 5, { txn: `t-${key}` })));
    return scene;
  }

  it('appends and deletes in one entry', () => {
    const scene = pending('a', 'b');
    scene.harness.advance(5);
    expect(scene.fire('a', 'b')).toMatchObject({ fired: 2, skipped: 0 });
    expect([scene.appended(), scene.timers(), scene.due(), scene.count()]).toEqual([2, 0, [], 0]);
  });

  it('never fires early', () => {
    const scene = pending('a');
    scene.harness.advance(4.999);
    expect(scene.fire('a')).toMatchObject({ fired: 0, skipped: 1 });
    expect([scene.appended(), scene.timers()]).toEqual([0, 1]);
  });

  it('fires once when it is proposed twice', () => {
    const scene = pending('a');
    scene.harness.advance(6);
    const bytes = scene.fireBytes(['a']);
    scene.harness.entry(bytes, bytes.slice());
    expect(scene.appended()).toBe(1);
  });

  it.each<[string, (scene: TimerScene) => void, number]>([
    ['was cancelled', (scene) => scene.run(scene.cancel('a')), 0],
    ['was rescheduled', (scene) => scene.run(scene.schedule('a', 60)), 1],
    ['failed meanwhile', (scene) => scene.fail('a', 'too_large'), 1],
  ])('skips one that %s', (_name, between, left) => {
    const scene = pending('a', 'b');
    scene.harness.advance(6);
    const bytes = scene.fireBytes(['a', 'b']);
    between(scene);
    expect(scene.harness.run(bytes)).toMatchObject({ fired: 1, skipped: 1 });
    expect([scene.appended(), scene.timers()]).toEqual([1, left]);
    expect(transactionIds(scene)).toEqual([hashText('t-b')]);
  });

  it('deletes a timer whose txn is in the dedup window', () => {
    const scene = pending('a');
    scene.harness.push(['t-a']);
    scene.harness.advance(6);
    expect(scene.fire('a')).toMatchObject({ fired: 0, duplicates: 1 });
    expect([scene.appended(), scene.timers()]).toEqual([1, 0]);
  });

  it('delivers in clear what was scheduled before the queue began to encrypt', () => {
    const scene = pending('a');
    const defaults = implicitOptions('orders', {
      leaseTime: 1,
      retryLimit: 1,
      dedupWindowSeconds: 1,
    });
    const options = { encryptionEnabled: true };
    scene.harness.run(
      encodeConfigure(TENANT, { queue: 'orders', replace: false, defaults, options }),
    );
    scene.harness.advance(6);
    expect(scene.fire('a')).toMatchObject({ fired: 1 });
  });

  it('creates no queue for skipped timers only', () => {
    const scene = pending('a');
    const bytes = scene.fireBytes(['a']);
    scene.run(scene.cancel('a'));
    scene.harness.advance(6);
    scene.harness.run(bytes);
    expect(scene.harness.tables.queues.live()).toEqual([]);
  });
});

describe('a refused fire', () => {
  const LONG = 'q'.repeat(500);

  function refused(): TimerScene {
    const scene = new TimerScene();
    scene.run(scene.schedule('k', 1, { queue: LONG }));
    scene.harness.advance(2);
    return scene;
  }

  it('backs off, doubled up to the maximum, and stays cancellable', () => {
    const scene = refused();
    const waits: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      expect(scene.fire('k')).toMatchObject({ failed: 1, fired: 0 });
      const row = scene.row('k')!;
      waits.push(Math.round((row.visibleAt - scene.harness.now) / SECOND));
      expect([row.attempts, row.lastError]).toEqual([
        i + 1,
        expect.stringMatching(/^name_too_long: /),
      ]);
      expect(scene.due()).toEqual([['k', expect.closeTo(waits[i]!, 3)]]);
      scene.harness.advance(4);
    }
    expect(waits).toEqual([1, 2, 3]);
    expect(statuses(scene.run(scene.cancel('k', LONG)))).toEqual(['cancelled']);
  });

  it('ends as a dead letter of the destination', () => {
    const scene = refused();
    for (let i = 0; i < 3; i += 1) {
      scene.fire('k');
      scene.harness.advance(4);
    }
    const { messageId } = scene.row('k')!;
    expect(scene.fire('k')).toMatchObject({ deadLettered: 1, failed: 0 });
    expect([scene.timers(), scene.due(), scene.count()]).toEqual([0, [], 0]);
    const [letter] = deadLetters(scene.harness);
    const { names } = scene.harness.tables;
    expect(letter).toMatchObject({ offset: -1, retryCount: RULES.maxAttempts, messageId });
    expect(names.groupName(letter!.groupId as never)).toBe('__timer__');
    expect(letter!.entryIndex).toBe(scene.harness.machine.appliedIndex);
    expect(scene.harness.tables.queues.live().map((queue) => queue.deadLetters)).toEqual([1]);
  });

  it.each(['overloaded', 'storage_full', 'retry'])('%s may pass: no attempt is lost', (code) => {
    const scene = refused();
    const { due } = { due: scene.harness.now };
    expect(scene.fail('k', code)).toMatchObject({ failed: 1 });
    const row = scene.row('k')!;
    expect([row.attempts, row.lastError]).toEqual([0, null]);
    expect(row.visibleAt).toBeGreaterThanOrEqual(due + RULES.transientMicros);
  });

  it.each(['too_large', 'name_too_long', 'no such code'])('%s does not pass', (code) => {
    const scene = refused();
    scene.fail('k', code);
    expect(scene.row('k')!.attempts).toBe(1);
  });

  it('files the log bytes of the schedule when the message could not be brought', () => {
    const scene = new TimerScene();
    scene.run(scene.schedule('k', 1, { payload: 'x'.repeat(9_000) }));
    const { place } = scene.row('k')!;
    scene.harness.advance(2);
    expect(scene.fail('k', 'too_large', { ...RULES, maxAttempts: 1 })).toMatchObject({
      deadLettered: 1,
    });
    expect(deadLetters(scene.harness)[0]).toMatchObject({
      ...{ entryIndex: place.entryIndex, blockOffset: place.start, start: 0 },
      ...{ length: place.length, crc: place.crc },
    });
  });
});

describe('the machine', () => {
  function history(scene: TimerScene): void {
    scene.run(
      scene.schedule('a', 1),
      scene.schedule('b', 2, { txn: 'b' }),
      scene.schedule('c', 0, { txn: 'c' }),
    );
    scene.run(
      scene.schedule('a', 3, { txn: 'a2' }),
      scene.cancel('b'),
      scene.schedule('d', 1, { txn: 'd' }),
    );
    scene.harness.advance(2);
    scene.fire('d');
    scene.fail('a', 'too_large');
  }

  it('comes to the same digest and rows on every member', () => {
    const scene = new TimerScene();
    history(scene);
    const other = new MachineHarness();
    for (const entry of scene.harness.log) other.replay(entry);
    expect(other.machine.digest()).toEqual(scene.harness.machine.digest());
    expect([...other.rows.all()]).toEqual([...scene.harness.rows.all()]);
  });

  it('goes on after a restart as if nothing had been', () => {
    const scene = new TimerScene();
    history(scene);
    const later = new TimerScene(scene.harness.reloaded());
    for (const one of [scene, later]) {
      one.harness.advance(10);
      one.fire('a');
    }
    expect(later.appended()).toBe(3);
    expect(later.harness.machine.digest()).toEqual(scene.harness.machine.digest());
  });

  it('checks commands before the log', () => {
    const scene = new TimerScene();
    const good = encodeTimers(TENANT, [scene.schedule('k', 1), scene.cancel('l')]);
    expect(() => checkCommand(good)).not.toThrow();
    const wrongQueue = { ...scene.schedule('k', 1), queue: 'other' };
    expect(() => checkCommand(encodeTimers(TENANT, [wrongQueue]))).toThrow('to its queue');
    scene.run(scene.schedule('k', 1));
    const fire = scene.fireBytes(['k']);
    expect(() => checkCommand(fire)).not.toThrow();
    for (let cut = 41; cut < fire.length; cut += 7) {
      expect(() => checkCommand(shortened(fire, cut))).toThrow();
    }
  });
});

function shortened(command: Uint8Array, size: number): Uint8Array {
  const bytes = command.slice(0, size);
  new DataView(bytes.buffer).setUint32(0, size - 4, true);
  return bytes;
}

/** Transaction hashes of the appended messages, in order. */
function transactionIds(scene: TimerScene): string[] {
  const view = new AppendRowView();
  const hashes: string[] = [];
  for (const [key, value] of scene.harness.rows.all()) {
    if (key[0] !== KEYSPACE.appends) continue;
    view.open(value);
    for (let i = 0; i < view.count; i += 1) {
      hashes.push(
        Buffer.from(view.bytes.slice(view.hashAt(i), view.hashAt(i) + 16)).toString('hex'),
      );
    }
  }
  return hashes;
}

function hashText(txn: string): string {
  const text = encodeUtf8(txn);
  const hash = new Uint8Array(16);
  murmur3x128Into(text, 0, text.length, hash, 0);
  return Buffer.from(hash).toString('hex');
}
