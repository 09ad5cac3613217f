/**
 * A snapshot received by a node that joins, loaded after a kill at every step of the loading: each time
 * the next start ends with the whole state. The sender is a single-node directory that was taken over
 * as a cluster of one, whose old log is purged.
 */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { nodeId } from '../../common/ids.js';
import { ClusterHarness, type StartOptions } from '../../../test/support/cluster-harness.js';
import { pushCommand } from '../../../test/support/group-commands.js';
import { openLocalGroup } from '../open-local-group.js';
import { silentLog } from '../group-files.js';
import { decodeIdentity, IDENTITY_FILE, NodeFilePort, readWholeFile } from '../wal/index.js';
import { WalLog } from '../wal-port.js';
import { installPending } from './install.js';

jest.setTimeout(180_000);

const SMALL = { segmentBytes: 20_000, timing: { logKeepEntries: 5, purgeHoldMs: 0 } };
const IDS = Array.from({ length: 80 }, (_, i) => `m-${i}`);
const PARTITION = 1;

class Killed extends Error {}

let cluster: ClusterHarness;

afterEach(() => cluster.remove());

async function fillLocal(directory: string): Promise<void> {
  const purge = jest.spyOn(WalLog.prototype, 'purge');
  const opened = await openLocalGroup({
    ...{ directory, nodeId: 1, checkpointMs: 20, diskGate: null },
    ...{ segmentBytes: SMALL.segmentBytes, logKeepEntries: 5 },
  });
  for (const transactionId of IDS) {
    const payload = JSON.stringify('x'.repeat(900));
    await opened.group.submit(pushCommand('q', 'p', [{ transactionId, payload }]), {
      deadlineMs: performance.now() + 60_000,
    });
  }
  // Whoever comes later shall not find the first entries in the log.
  const end = performance.now() + 60_000;
  while (!purge.mock.calls.some(([index]) => index > IDS.length / 2)) {
    if (performance.now() > end) throw new Error('the log was not purged in time');
    await pause();
  }
  purge.mockRestore();
  await opened.close();
}

/** A cluster of one with a node 2 that has received a snapshot and ended to load it. */
async function receivedByTwo(): Promise<string> {
  cluster = await ClusterHarness.create(1, {
    ...SMALL,
    prepare: (directory) => fillLocal(join(directory, 'n1')),
  });
  await cluster.leader();
  await cluster.start(2, { ...SMALL, join: true });
  const end = performance.now() + 60_000;
  const learner = { kind: 'add-learner', id: 2, raft: 'h2:7400', http: 'h2:6632' } as const;
  for (;;) {
    const added = await cluster.group(1).cluster.membership.request(learner, 60_000);
    if (added.ok) break;
    // The cluster's own first membership may not be committed yet; an operator asks again.
    const isEarly = added.code === 'in_flight' && performance.now() < end;
    if (!isEarly) throw new Error(`node 2 was not added: ${added.code}: ${added.error}`);
    await pause();
  }
  while (!cluster.reloads.includes(2)) {
    if (performance.now() > end) throw new Error('no snapshot was received in time');
    await pause();
  }
  await cluster.stop(2);
  return join(cluster.directory, 'n2');
}

async function install(directory: string, step?: () => void): Promise<boolean> {
  const path = join(directory, IDENTITY_FILE);
  const bytes = await readWholeFile(new NodeFilePort(), path);
  if (bytes === undefined) throw new Error('no identity');
  const { identity, ready } = decodeIdentity(path, bytes);
  return installPending({
    ...{ directory, identity, ready, log: silentLog },
    ...(step === undefined ? {} : { step }),
  });
}

async function transactionIds(node: number): Promise<string[]> {
  const messages = await cluster.group(node).readMessages(PARTITION, 0, IDS.length + 10);
  return messages.map((message) => Buffer.from(message.transactionId).toString());
}

it('a local directory grows into a cluster: the new node has every message and is promoted', async () => {
  await receivedByTwo();
  await cluster.start(2, { ...SMALL, join: true });
  await cluster.settled();
  expect(await transactionIds(2)).toEqual(IDS);
  const { membership } = cluster.group(1).cluster;
  const promoted = await membership.request({ kind: 'promote', ids: [2], force: false }, 60_000);
  expect(promoted).toMatchObject({ ok: true, membership: { voters: [1, 2], learners: [] } });
  // Node 1 answered; node 2 hears of it a moment later.
  await cluster.settled();
  expect(cluster.group(2).cluster.members().config.voters).toEqual([1, 2]);
  // The same push again, through the new node: the ids came along.
  const again = pushCommand('q', 'p', [{ transactionId: 'm-3', payload: '1' }]);
  const outcome = await cluster.group(2).submit(again, cluster.soon());
  expect(outcome).toMatchObject({ groups: [{ offsets: Float64Array.of(3) }] });
});

it('is loaded whole after a kill at every step of the loading', async () => {
  const received = await receivedByTwo();
  const alone: StartOptions = { ...SMALL, join: true, timing: { bootWaitMs: 1 } };
  let killed = 0;
  for (let at = 0; ; at += 1) {
    const directory = `${received}-${at}`;
    await cp(received, directory, { recursive: true });
    let left = at;
    const step = (): void => {
      left -= 1;
      if (left < 0) throw new Killed();
    };
    const first = await install(directory, step).catch((error: unknown) => error);
    if (first === true) break;
    expect(first).toBeInstanceOf(Killed);
    killed += 1;
    // Cut off from the other: what it shows is what it has.
    cluster.isolate(nodeId(2));
    await cluster.start(2, { ...alone, directory });
    expect(await transactionIds(2)).toEqual(IDS);
    expect(cluster.group(2).cluster.members().config.learners).toEqual([2]);
    await cluster.stop(2);
    expect(await install(directory)).toBe(false);
  }
  expect(killed).toBeGreaterThan(8);
});

it('refuses a single-node broker on a directory that belongs to a member', async () => {
  await receivedByTwo();
  await cluster.stop(1);
  const directory = join(cluster.directory, 'n1');
  await expect(openLocalGroup({ directory, nodeId: 1, diskGate: null })).rejects.toThrow(
    'belongs to a member of a cluster',
  );
});

function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 10);
  });
}
