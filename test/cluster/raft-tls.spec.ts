/**
 * Three processes whose raft ports speak mutual TLS: the cluster works, strangers stay outside, and
 * certificates and their authority are replaced while it runs, without a restart and without an election.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { TestAuthority, type SignedPair } from '../support/certificates.js';
import { ClusterProcesses } from '../support/cluster-processes.js';
import { Calls } from './calls.js';

jest.setTimeout(480_000);

const READ_AGAIN = 'raft: TLS files read again';

describe('three nodes with mutual TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'queen-raft-tls-'));
  const [cert, key, ca] = ['cert', 'key', 'ca'].map((name) => join(folder, `${name}.pem`)) as [
    ...[string, string, string],
  ];
  const [old, next] = [new TestAuthority('old'), new TestAuthority('next')];
  let cluster: ClusterProcesses;

  const write = (pair: SignedPair): void => {
    writeFileSync(cert, pair.cert);
    writeFileSync(key, pair.key);
  };

  beforeAll(async () => {
    write(old.sign('queen'));
    writeFileSync(ca, old.cert);
    const tls = { QUEEN_RAFT_TLS_CERT: cert, QUEEN_RAFT_TLS_KEY: key, QUEEN_RAFT_TLS_CA: ca };
    // A busy machine alone makes nobody stand for election.
    const env = { ...tls, QUEEN_RAFT_ELECTION_MS: '3000' };
    cluster = await ClusterProcesses.start({ env });
    await cluster.leader();
  });

  afterAll(async () => {
    await cluster.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  function greet(id: number, pair: SignedPair | null): Promise<boolean> {
    return new Promise((resolve) => {
      const { raft } = cluster.node(id).ports;
      const shown = pair === null ? {} : { cert: pair.cert, key: pair.key };
      const socket = connect({
        host: '127.0.0.1',
        port: raft,
        rejectUnauthorized: false,
        ...shown,
      });
      let answered = false;
      socket.on('secureConnect', () => socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'));
      socket.on('data', () => {
        answered = true;
        socket.destroy();
      });
      socket.on('error', () => socket.destroy());
      socket.on('close', () => resolve(answered));
    });
  }

  /** Every node read the files that are there now. */
  async function readAgain(times: number): Promise<void> {
    await cluster.until(
      () =>
        Promise.resolve(
          cluster.ids.every((id) => cluster.node(id).log.split(READ_AGAIN).length > times),
        ),
      { withinMs: 180_000, what: `every node to read its files again, ${times} times` },
    );
  }

  it('works, and answers nobody whose certificate is not of its authority', async () => {
    const calls = new Calls(cluster);
    for (const id of cluster.ids) expect((await calls.push(id, 'q', `m${id}`)).status).toBe(201);
    for (const id of cluster.ids) {
      const answers = [old.sign('member'), null, next.sign('stranger')].map((pair) =>
        greet(id, pair),
      );
      expect(await Promise.all(answers)).toEqual([true, false, false]);
    }
  });

  it('goes over to another authority while it runs', async () => {
    const before = await cluster.health(await cluster.leader(), 30_000);
    writeFileSync(ca, old.cert + next.cert);
    await readAgain(1);
    write(next.sign('queen'));
    await readAgain(2);
    writeFileSync(ca, next.cert);
    await readAgain(3);
    const after = await cluster.health(await cluster.leader(), 30_000);
    expect(after?.term).toBe(before?.term);
    for (const id of cluster.ids) {
      const answers = [old.sign('member'), next.sign('member')].map((pair) => greet(id, pair));
      expect(await Promise.all(answers)).toEqual([false, true]);
    }
    // A node that starts anew talks to those that read the files while they ran.
    const leader = await cluster.leader();
    const [other = 0] = cluster.ids.filter((id) => id !== leader);
    cluster.node(other).killNow();
    await cluster.node(other).ended();
    cluster.node(other).start();
    await cluster.ready(other);
    expect((await new Calls(cluster).push(other, 'q', 'later')).status).toBe(201);
  });
});
