/**
 * Strangers at the raft ports of a cluster that works: wrong tokens, garbage, oversized heads and frames,
 * bytes recorded elsewhere, connections that say nothing. Bounded in number. Writes go on, nobody is
 * elected, and every message that was acknowledged is there.
 */
import { connect } from 'node:net';
import { FrameKind, FrameWriter } from '../../src/raft/transport/frame.js';
import { helloFrame } from '../../src/raft/transport/hello.js';
import { nodeId } from '../../src/common/ids.js';
import { ClusterProcesses } from '../support/cluster-processes.js';
import { Calls } from './calls.js';

jest.setTimeout(480_000);

const ROUNDS = 40;
const SILENT = 60;
/** Of a node that is busy. */
const LOOK_MS = 30_000;

const head = (line: string, headers: Readonly<Record<string, string>>): string =>
  `${line} HTTP/1.1\r\nhost: x\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;

function streamOf(from: number, token: string | null): string {
  return head('GET /raft/v1/stream?kind=data', {
    ...{ connection: 'Upgrade', upgrade: 'queen-raft' },
    ...(token === null ? {} : { 'x-queen-raft-token': token }),
    ...{ 'x-queen-raft-cluster': '07', 'x-queen-raft-node': String(from) },
    ...{ 'x-queen-raft-directory': '01', 'x-queen-raft-protocol': '1', 'x-queen-raft-boot': 'aa' },
  });
}

function frames(): Buffer {
  const writer = new FrameWriter();
  writer.begin(FrameKind.Command);
  writer.payload(Buffer.alloc(200, 7));
  const parts = [...helloFrame(nodeId(1), 'data').parts, ...writer.finish().parts];
  return Buffer.concat(parts.map((part) => Buffer.from(part)));
}

const oversized = Buffer.alloc(64 * 1024, 0xff);
const wrong = { 'x-queen-raft-token': 'wrong' };
/** What is sent, in pieces; every one of them has to end with the connection closed by the node. */
const ATTACKS: readonly (readonly [what: string, ...bytes: (string | Buffer)[]])[] = [
  [
    'wrong token',
    head('POST /raft/v1/state', { ...wrong, 'content-length': '1000000000' }),
    oversized,
  ],
  ['no token', head('POST /raft/v1/snapshot', { 'content-length': '10' }), '0123456789'],
  ['question', head('POST /raft/v1/ask/local', { ...wrong, 'content-length': '2' }), '{}'],
  ['recorded stream, no token', streamOf(1, null), frames()],
  ['recorded stream, wrong token', streamOf(2, 'wrong'), frames()],
  ['right token, unknown cluster', streamOf(1, 'test-token'), frames()],
  ['oversized head', head('GET /raft/v1/stream', { 'x-long': 'x'.repeat(20_000) })],
  ['oversized frame', streamOf(3, 'test-token'), oversized],
  ['garbage', Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 167 + 13) % 256))],
  ['TLS', Buffer.from('160301020001000001fc0303', 'hex'), oversized],
];

/** Resolves with how long the node left the connection open. */
function attack(port: number, pieces: readonly (string | Buffer)[]): Promise<number> {
  return new Promise((resolve) => {
    const from = performance.now();
    const socket = connect(port, '127.0.0.1', () => {
      for (const piece of pieces) socket.write(piece);
    });
    socket.on('error', () => socket.destroy());
    socket.on('data', () => undefined);
    socket.on('close', () => resolve(performance.now() - from));
  });
}

describe('three nodes', () => {
  let cluster: ClusterProcesses;

  beforeAll(async () => {
    // A busy machine alone makes nobody stand for election.
    cluster = await ClusterProcesses.start({ env: { QUEEN_RAFT_ELECTION_MS: '5000' } });
    await cluster.leader();
  });

  afterAll(() => cluster.remove());

  it('work on while strangers knock at their raft ports', async () => {
    const ports = cluster.ids.map((id) => cluster.node(id).ports.raft);
    const leader = await cluster.leader();
    const before = await cluster.health(leader, LOOK_MS);
    const calls = new Calls(cluster);
    let isOver = false;
    let acked = 0;
    const writing = (async (): Promise<void> => {
      while (!isOver) {
        const at = cluster.ids[acked % 3] ?? 1;
        expect((await calls.push(at, 'q', `m${acked}`)).status).toBe(201);
        acked += 1;
      }
    })();
    const silent = ports.flatMap((port) => Array.from({ length: SILENT }, () => attack(port, [])));
    for (let round = 0; round < ROUNDS; round += 1) {
      const knocks = ports.flatMap((port) => ATTACKS.map(([, ...bytes]) => attack(port, bytes)));
      await Promise.all(knocks);
    }
    await Promise.all(silent);
    isOver = true;
    await writing;
    expect(acked).toBeGreaterThan(20);
    const after = await cluster.health(leader, LOOK_MS);
    expect([after?.term, after?.role, after?.status]).toEqual([before?.term, 'leader', 200]);
    for (const id of cluster.ids) {
      expect((await cluster.health(id, LOOK_MS))?.status).toBe(200);
      const depth = await calls.depth(id, 'q');
      expect(depth.body).toMatchObject({ pending: acked });
    }
  });
});
