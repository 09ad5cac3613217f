/** Three members in one process: writes through any node, reads, pops, leader changes, restarts. */
import { existsSync } from 'node:fs';
import { ClusterHarness } from '../../../../test/support/cluster-harness.js';
import {
  ackCommand,
  asPush,
  pushCommand,
  registerCommand,
  TENANT,
} from '../../../../test/support/group-commands.js';
import { CommandKind } from '../../../machine/commands/catalogue.js';
import { REPAIR_FILE } from '../../log-repair.js';
import { WalDamageError } from '../../wal/index.js';
import type { PopRequest } from '../group.js';

function popRequest(queue: string, group: string, wait = false): PopRequest {
  return {
    tenant: TENANT,
    scope: 'queue',
    queue,
    partition: '',
    namespace: '',
    task: '',
    group,
    maxMessages: 10,
    maxPartitions: 1,
    leaseSeconds: 30,
    commitOnDelivery: false,
    wait,
    intent: { mode: 'all', instantMicros: 0 },
    conflation: null,
    autopilot: null,
  };
}

function push(cluster: ClusterHarness, node: number, id: string): Promise<number> {
  return cluster
    .group(node)
    .submit(pushCommand('q', 'p', [{ transactionId: id, payload: `"${id}"` }]), cluster.soon())
    .then((outcome) => asPush(outcome).groups[0]?.offsets[0] ?? -1);
}

jest.setTimeout(180_000);

describe('cluster group', () => {
  let cluster: ClusterHarness;

  beforeEach(async () => {
    cluster = await ClusterHarness.create();
  });

  afterEach(() => cluster.remove());

  it('pushes through one node, pops through the second, acks through the third', async () => {
    await cluster.leader();
    expect(await push(cluster, 1, 'a')).toBe(0);
    expect(await push(cluster, 2, 'b')).toBe(1);
    expect(await push(cluster, 3, 'a')).toBe(0);

    await cluster.group(2).submit(registerCommand('q', 'g'), cluster.soon());
    await cluster.group(2).readBarrier(cluster.soon());
    const popped = await cluster.group(2).pop(popRequest('q', 'g'), cluster.soon());
    const range = popped.grant?.ranges[0];
    expect(range).toMatchObject({ firstOffset: 0, lastOffset: 1, deliveryAttempt: 1 });
    const messages = await cluster.group(2).readMessages(range?.partitionId ?? 0, 0, 1);
    expect(messages.map((m) => Buffer.from(m.payload).toString())).toEqual(['"a"', '"b"']);

    const acked = await cluster.group(3).submit(
      ackCommand('g', {
        partitionId: range?.partitionId ?? 0,
        leaseId: popped.grant?.leaseId ?? new Uint8Array(16),
        first: 0,
        last: 1,
      }),
      cluster.soon(),
    );
    expect(acked).toMatchObject({ kind: CommandKind.Ack, targets: [{ leaseReleased: true }] });
    await cluster.settled();
    const digests = cluster.running.map((id) => cluster.group(id).status().applied);
    expect(new Set(digests).size).toBe(1);
  });

  it('wakes a pop parked on a follower and keeps it over a leader change', async () => {
    const leader = await cluster.leader();
    const [follower] = cluster.running.filter((id) => id !== leader);
    const node = follower ?? 0;
    await cluster.group(node).submit(registerCommand('q', 'g'), cluster.soon());
    const waiting = cluster.group(node).pop(popRequest('q', 'g', true), cluster.soon());
    await cluster.stop(leader);
    await cluster.leader();
    await push(cluster, node, 'late');
    const popped = await waiting;
    expect(popped.grant?.ranges[0]).toMatchObject({ firstOffset: 0, lastOffset: 0 });
    expect(cluster.lines.map((line) => line.event)).toContain('raft: leadership handed off');
  });

  it('answers every push exactly once over kills of the leader', async () => {
    const offsets: number[] = [];
    for (let i = 0; i < 60; i += 1) {
      if (i % 20 === 10) {
        const leader = await cluster.leader();
        await cluster.kill(leader);
        const [alive] = cluster.running;
        offsets.push(await push(cluster, alive ?? 0, `m${i}`));
        await cluster.start(leader);
        continue;
      }
      const nodes = cluster.running;
      offsets.push(await push(cluster, nodes[i % nodes.length] ?? 0, `m${i}`));
    }
    expect(offsets).toEqual(Array.from({ length: 60 }, (_, i) => i));
    await cluster.settled();
    for (const id of cluster.running) {
      const { partitions } = cluster.group(id).tables;
      expect(partitions.lastOffset(partitions.byId(1 as never))).toBe(59);
    }
  }, 180_000);

  it('refuses a voter that comes back with an empty directory', async () => {
    await cluster.leader();
    await push(cluster, 1, 'a');
    await cluster.settled();
    const { rm } = await import('node:fs/promises');
    await cluster.stop(3);
    await rm(`${cluster.directory}/n3`, { recursive: true });
    await expect(cluster.start(3)).rejects.toThrow(/bound to data directory/);
  });

  it('has the vote of a founder whose first start comes after the leader was lost', async () => {
    await cluster.remove();
    cluster = await ClusterHarness.create(3, { early: [1, 2] });
    const lost = await cluster.leader();
    await push(cluster, lost, 'a');
    await cluster.kill(lost);
    await cluster.start(3);
    await cluster.leader();
    expect(await push(cluster, 3, 'b')).toBe(1);
  });

  it('notes damage that a read of the log for others meets, for the next start', async () => {
    await cluster.leader();
    const damage = new WalDamageError({ file: 'f', byteOffset: 1, reason: 'bad', cure: 'c' });
    cluster.group(2).logFailed(damage);
    expect(cluster.group(2).status().role).toBe('stopped');
    expect(existsSync(`${cluster.directory}/n2/${REPAIR_FILE}`)).toBe(true);
  });

  it('grants nothing more once the log met damage: what is claimed then goes back', async () => {
    const leader = await cluster.leader();
    const group = cluster.group(leader);
    await push(cluster, leader, 'a');
    await group.submit(registerCommand('q', 'g'), cluster.soon());
    await group.submit(registerCommand('empty', 'g'), cluster.soon());
    const parked = group.pop(popRequest('empty', 'g', true), cluster.soon());
    const claiming = group.pop(popRequest('q', 'g'), cluster.soon());
    // The claim is on its way to the log when this turn ends.
    await Promise.resolve();
    await Promise.resolve();
    group.damaged(new WalDamageError({ file: 'f', byteOffset: 1, reason: 'bad', cure: 'c' }));
    expect(existsSync(`${cluster.directory}/n${leader}/${REPAIR_FILE}`)).toBe(true);
    await expect(parked).rejects.toMatchObject({ code: 'retry' });
    await expect(claiming).rejects.toMatchObject({ code: 'retry' });
    const [other] = cluster.running.filter((id) => id !== leader);
    const answer = await cluster.group(other ?? 0).pop(popRequest('q', 'g', true), cluster.soon());
    expect(answer.grant?.ranges).toMatchObject([{ firstOffset: 0, deliveryAttempt: 1 }]);
  });

  it('does not serve reads on a leader cut off from the others', async () => {
    const leader = await cluster.leader();
    cluster.isolate(leader);
    await expect(cluster.group(leader).readBarrier(cluster.soon(600))).rejects.toMatchObject({
      name: 'QueenError',
    });
    cluster.network.heal();
    await cluster.leader();
    await cluster.group(leader).readBarrier(cluster.soon());
  });
});
