/** The raft port against strangers: no token, garbage, frames that lie, slow handshakes. */
import { connect as dial, type Socket } from 'node:net';
import { logIndex, nodeId as id } from '../../../src/common/ids.js';
import { FrameKind, FrameWriter } from '../../../src/raft/transport/frame.js';
import { writeMessage } from '../../../src/raft/transport/message-codec.js';
import { helloFrame } from '../../../src/raft/transport/hello.js';
import { addressOf, heartbeat, startNode, stopAll, until } from './recorder.js';
import type { TestNode } from './recorder.js';

afterEach(stopAll);

interface Stranger {
  readonly socket: Socket;
  answer: string;
  closed: boolean;
}

function stranger(node: TestNode, text = ''): Stranger {
  const socket = dial(node.port, '127.0.0.1');
  const found: Stranger = { socket, answer: '', closed: false };
  socket.on('data', (chunk) => (found.answer += chunk.toString('latin1')));
  socket.on('error', () => socket.destroy());
  socket.on('close', () => (found.closed = true));
  if (text !== '') socket.write(text);
  return found;
}

const head = (line: string, headers: Readonly<Record<string, string>>): string =>
  `${line} HTTP/1.1\r\nhost: x\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;

const streamHeaders = (from: number): Record<string, string> => ({
  connection: 'Upgrade',
  upgrade: 'queen-raft',
  'x-queen-raft-token': 'secret',
  'x-queen-raft-cluster': '07',
  'x-queen-raft-node': String(from),
  'x-queen-raft-directory': '01',
  'x-queen-raft-protocol': '1',
  'x-queen-raft-boot': 'aa',
});
const STREAM = 'GET /raft/v1/stream?kind=data';

async function ended(who: Stranger): Promise<string> {
  await until('closed by the node', () => who.closed);
  return who.answer.slice(0, 12);
}

/** A node that knows peer 1, which never dials by itself. */
async function lonelyNode(options: Parameters<typeof startNode>[1] = {}): Promise<TestNode> {
  const peer = { nodeId: (await startNode(1)).id, host: '127.0.0.1', port: 9 };
  return startNode(2, { peers: [peer], ...options });
}

it('answers 401 before a byte of the body and closes', async () => {
  const node = await lonelyNode();
  for (const token of [{}, { 'x-queen-raft-token': 'wrong' }, { 'x-queen-raft-token': '' }]) {
    const body = { 'content-length': '1000000000' };
    const post = stranger(node, head('POST /raft/v1/state', { ...token, ...body }));
    expect(await ended(post)).toBe('HTTP/1.1 401');
    const waiting = { ...token, ...body, expect: '100-continue' };
    expect(await ended(stranger(node, head('POST /raft/v1/state', waiting)))).toBe('HTTP/1.1 401');
    const { 'x-queen-raft-token': _, ...bare } = streamHeaders(1);
    expect(await ended(stranger(node, head(STREAM, { ...bare, ...token })))).toBe('HTTP/1.1 401');
    expect(await ended(stranger(node, head('GET /anything', token)))).toBe('HTTP/1.1 401');
  }
  expect(node.heard.queries).toEqual([]);
});

it('logs on the sender that its token was refused, once', async () => {
  const a = await startNode(1);
  const b = await startNode(2, { token: 'another' });
  a.network.setPeers([addressOf(b)]);
  b.network.setPeers([addressOf(a)]);
  const query = { nodeId: a.id, directoryId: Uint8Array.of(9), lastIndex: logIndex(3) };
  expect(await a.network.queryState(b.id, query, 1000)).toBeNull();
  await until('refusals', () => a.lines.length > 0 && b.lines.length > 0);
  await new Promise((resolve) => setTimeout(resolve, 400));
  const refused = a.lines.filter(({ event }) => event === "refused this node's QUEEN_RAFT_TOKEN");
  expect(refused).toHaveLength(1);
});

it('refuses wrong streams with a reason', async () => {
  const node = await lonelyNode();
  const cases: [string, Record<string, string>, string][] = [
    ['GET /raft/v1/stream?kind=other', streamHeaders(1), '404'],
    ['GET /other', streamHeaders(1), '404'],
    ['POST /raft/v1/stream?kind=data', streamHeaders(1), '400'],
    [STREAM, { ...streamHeaders(1), upgrade: 'websocket' }, '400'],
    [STREAM, streamHeaders(2), '403'],
    [STREAM, streamHeaders(9), '403'],
    [STREAM, { ...streamHeaders(1), 'x-queen-raft-cluster': '08' }, '403'],
    [STREAM, { ...streamHeaders(1), 'x-queen-raft-protocol': '2' }, '403'],
    [STREAM, { ...streamHeaders(1), 'x-queen-raft-boot': 'no hex' }, '403'],
    ['POST /raft/v1/nothing', { 'x-queen-raft-token': 'secret' }, '404'],
    ['GET /raft/v1/state', { 'x-queen-raft-token': 'secret' }, '404'],
  ];
  for (const [line, headers, status] of cases) {
    expect(await ended(stranger(node, head(line, headers)))).toBe(`HTTP/1.1 ${status}`);
  }
});

it('closes streams that speak garbage, without effect', async () => {
  const node = await lonelyNode({
    limits: { maxFrameBytes: 1000, silentMs: 600, aliveEveryMs: 100 },
  });
  const frame = (kind: number, body = Buffer.alloc(0)): Buffer => {
    const writer = new FrameWriter();
    writer.begin(kind);
    writer.payload(body);
    return Buffer.concat([...writer.finish().parts]);
  };
  const hello = Buffer.concat([...helloFrame(addressOf(node).nodeId, 'data').parts]);
  const right = Buffer.concat([...helloFrame(1 as typeof node.id, 'data').parts]);
  const spoofed = frame(FrameKind.Message, Buffer.from('0105020000000200000001', 'hex'));
  const oversized = Buffer.alloc(8);
  oversized.writeUInt32LE(1001);
  const streams: Buffer[] = [
    Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    hello,
    frame(FrameKind.Command),
    Buffer.concat([right, right]),
    Buffer.concat([right, oversized]),
    Buffer.concat([right, spoofed]),
    Buffer.concat([right, frame(99)]),
    Buffer.concat([right, frame(FrameKind.Pop, Buffer.from('x'))]),
    // Half a frame, then silence.
    Buffer.concat([right, frame(FrameKind.Command, Buffer.alloc(50)).subarray(0, 30)]),
  ];
  for (const bytes of streams) {
    const peer = stranger(node, head(STREAM, streamHeaders(1)));
    await until('upgraded', () => peer.answer.includes('\r\n\r\n'));
    peer.socket.write(bytes);
    expect(await ended(peer)).toBe('HTTP/1.1 101');
  }
  expect(node.heard.messages).toEqual([]);
  expect(node.heard.commands).toEqual([]);
  expect(node.heard.events).toEqual([]);
});

it('does nothing with bytes recorded elsewhere: another pair, another stream, no token', async () => {
  const node = await lonelyNode();
  const third = await startNode(3, { peers: [{ ...addressOf(node), nodeId: id(1) }] });
  const writer = new FrameWriter();
  writer.begin(FrameKind.Message);
  writeMessage(writer, heartbeat({ ...node, id: id(1) }, node, 7));
  const hello = Buffer.concat([...helloFrame(id(1), 'data').parts]);
  const recorded = Buffer.concat([hello, ...writer.finish().parts]);
  const replay = async (to: TestNode, headers: Record<string, string>, line = STREAM) => {
    const peer = stranger(to, head(line, headers));
    await until('an answer', () => peer.answer.includes('\r\n\r\n'));
    if (!peer.closed) peer.socket.write(recorded);
    return ended(peer);
  };
  // To a node it was not meant for, and on the other kind of stream.
  expect(await replay(third, streamHeaders(1))).toBe('HTTP/1.1 101');
  expect(await replay(node, streamHeaders(1), STREAM.replace('data', 'control'))).toBe(
    'HTTP/1.1 101',
  );
  const { 'x-queen-raft-token': _, ...bare } = streamHeaders(1);
  expect(await replay(node, bare)).toBe('HTTP/1.1 401');
  expect([...node.heard.messages, ...third.heard.messages]).toEqual([]);
  // The same bytes where they belong are heard, so they were whole.
  const right = stranger(node, head(STREAM, streamHeaders(1)));
  await until('upgraded', () => right.answer.includes('\r\n\r\n'));
  right.socket.write(recorded);
  await until('heard', () => node.heard.messages.length === 1);
  right.socket.destroy();
});

it('closes on random bytes behind a right hello, and serves on', async () => {
  const node = await lonelyNode({ limits: { maxFrameBytes: 1000, silentMs: 400 } });
  const hello = Buffer.concat([...helloFrame(id(1), 'data').parts]);
  for (let seed = 1; seed <= 40; seed += 1) {
    const noise = Buffer.from(
      Array.from({ length: seed * 5 }, (_, i) => (i * seed * 167 + 13) % 256),
    );
    const peer = stranger(node, head(STREAM, streamHeaders(1)));
    await until('upgraded', () => peer.answer.includes('\r\n\r\n'));
    peer.socket.write(Buffer.concat([hello, noise]));
    await ended(peer);
  }
  expect([...node.heard.messages, ...node.heard.commands]).toEqual([]);
});

it('bounds handshake time and header bytes', async () => {
  const node = await lonelyNode({ limits: { handshakeMs: 400 } });
  const slow = [stranger(node), stranger(node, 'GET /raft/v1/str'), stranger(node, '\x16\x03\x01')];
  const long = stranger(node, head(STREAM, { 'x-long': 'x'.repeat(9000) }));
  for (const each of slow) await ended(each);
  // Cut at the bound: a head that is read to its end is judged, and lacks the token.
  expect(await ended(long)).not.toBe('HTTP/1.1 401');
});

it('bounds connections, long before their handshakes are late', async () => {
  const node = await lonelyNode({ limits: { handshakeMs: 600_000, maxConnections: 6 } });
  const crowd = Array.from({ length: 20 }, () => stranger(node));
  const cut = (): number => crowd.filter(({ closed }) => closed).length;
  await until('the crowd is cut', () => cut() === 14);
  // Who is in stays, and a free place is taken.
  const [first, ...rest] = crowd.filter(({ closed }) => !closed);
  first?.socket.destroy();
  const asked = (): Stranger => stranger(node, head(STREAM, {}));
  let late = asked();
  await until('the free place is taken', () => {
    // The node has not heard yet that it is free.
    if (late.closed && late.answer === '') late = asked();
    return late.answer.startsWith('HTTP/1.1 401');
  });
  expect(rest.filter(({ closed }) => closed)).toEqual([]);
  for (const each of rest) each.socket.destroy();
});

it('works over IPv6', async () => {
  const listen = { host: '::1', port: 0 };
  const [a, b] = [await startNode(1, { listen }), await startNode(2, { listen })];
  a.network.setPeers([addressOf(b, '::1')]);
  b.network.setPeers([addressOf(a, '::1')]);
  await until('connected', () => a.network.isConnected(b.id) && b.network.isConnected(a.id));
});
