/** PeerNetworks on loopback: what is sent arrives, in order, and calls come back. */
import { logIndex, nodeId, term } from '../../../src/common/ids.js';
import {
  addressOf,
  append,
  connect,
  heartbeat,
  popOf,
  quickest,
  startNode,
  stopAll,
  stopNode,
  until,
} from './recorder.js';

afterEach(stopAll);

it('carries every kind of frame between three nodes', async () => {
  const [a, b, c] = [await startNode(1), await startNode(2), await startNode(3)];
  await connect(a, b, c);
  const payloads = [Buffer.alloc(100_000, 3), Buffer.alloc(0), Buffer.from('small')];
  a.network.send(append(a, b, 4, payloads));
  a.network.send(heartbeat(a, c, 3));
  expect(a.network.forwardCommand(b.id, Buffer.from('command'))).toBe(true);
  expect(a.network.forwardPop(b.id, popOf(1))).toBe(true);
  a.network.cancelPop(b.id, { session: 5, sequence: 1 });
  a.network.sendDigest(b.id, { index: logIndex(5), digest: Uint8Array.of(1, 2) });
  a.network.broadcastView({
    term: term(1),
    leader: a.id,
    commit: logIndex(3),
    quorumAckMs: 1.5,
    members: [{ id: b.id, voter: true, lastAckMs: null, matched: logIndex(2) }],
  });
  await until('views', () => b.heard.views.length === 1 && c.heard.views.length === 1);
  await until('messages', () => b.heard.messages.length + c.heard.messages.length === 2);
  expect(b.heard.messages[0]).toMatchObject({ kind: 'append-request', prevIndex: 4 });
  const [message] = b.heard.messages;
  const entries = message?.kind === 'append-request' ? message.entries : [];
  expect(entries.map(({ data }) => Buffer.from(data).equals(payloads.shift() ?? data))).toEqual([
    true,
    true,
    true,
  ]);
  expect(c.heard.messages).toEqual([heartbeat(a, c, 3)]);
  expect(b.heard.commands.map((bytes) => Buffer.from(bytes).toString())).toEqual(['command']);
  expect(b.heard.events).toEqual(
    expect.arrayContaining(['up 1', 'up 3', 'pop 1', 'cancel 1', 'digest 1']),
  );
  b.heard.pops[0]?.reply({ kind: 'refused', code: 'retry' });
  b.heard.pops[0]?.reply({ kind: 'refused', code: 'overloaded' });
  await until('a reply', () => a.heard.replies.length > 0);
  b.heard.leads = false;
  a.network.forwardCommand(b.id, Buffer.from('x'));
  a.network.forwardCommand(b.id, Buffer.from('y'));
  await until('a refusal', () => a.heard.events.includes('refused 2'));
  expect(a.heard.replies).toEqual([{ kind: 'refused', code: 'retry' }]);
});

it('answers the state query, and null when nobody is there', async () => {
  const [a, b] = [await startNode(1), await startNode(2)];
  await connect(a, b);
  const query = { nodeId: a.id, directoryId: Uint8Array.of(9), lastIndex: logIndex(3) };
  expect(await a.network.queryState(b.id, query, 1000)).toEqual(b.heard.stateAnswer);
  expect(b.heard.queries).toEqual([query]);
  expect(await a.network.queryState(nodeId(8), query, 1000)).toBeNull();
  await stopNode(b);
  expect(await a.network.queryState(b.id, query, 1000)).toBeNull();
});

it('carries questions between members: null for a stranger, an unknown name, a failure, a late answer', async () => {
  const [a, b] = [await startNode(1), await startNode(2)];
  await connect(a, b);
  const ask = (to: number, name: string, timeoutMs = 5_000): Promise<string | null> =>
    a.network.ask(nodeId(to), { name, body: '{"n":1}', timeoutMs });
  b.network.answer('echo', (body) => Promise.resolve(`heard ${body}`));
  b.network.answer('fails', () => Promise.reject(new Error('no')));
  b.network.answer('never', () => new Promise(() => undefined));
  expect(a.network.others()).toEqual([b.id]);
  expect(await ask(2, 'echo')).toBe('heard {"n":1}');
  expect(await ask(2, 'unknown')).toBeNull();
  expect(await ask(2, 'fails')).toBeNull();
  expect(await ask(2, 'never', 50)).toBeNull();
  expect(await ask(8, 'echo')).toBeNull();
});

it('keeps the order of a stream', async () => {
  const [a, b] = [await startNode(1), await startNode(2)];
  await connect(a, b);
  for (let i = 0; i < 3000; i++) {
    a.network.send(append(a, b, i, [Buffer.alloc(i % 7 === 0 ? 5000 : 10, i)]));
    if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await until('all appends', () => b.heard.messages.length === 3000);
  const order = b.heard.messages.map((m) => (m.kind === 'append-request' ? m.prevIndex : -1));
  expect(order).toEqual(order.map((_, i) => i));
});

it('reaches a restarted node quickly and tells up and down once each', async () => {
  const [a, b] = [await startNode(1), await startNode(2)];
  await connect(a, b);
  const seen = ['up 2'];
  let node = b;
  await quickest(500, async () => {
    await stopNode(node);
    seen.push('down 2');
    await until('down', () => a.heard.events.length === seen.length);
    expect(a.network.forwardCommand(b.id, Buffer.from('x'))).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    node = await startNode(2, {
      listen: { host: '127.0.0.1', port: b.port },
      peers: [addressOf(a)],
    });
    const { network, heard } = node;
    const isUp = (): boolean => a.network.isConnected(b.id) && network.isConnected(a.id);
    const tookMs = await until('up again', isUp);
    console.log(`restarted node reached within ${tookMs.toFixed(0)} ms`);
    seen.push('up 2');
    expect(a.heard.events).toEqual(seen);
    expect(heard.events).toEqual(['up 1']);
    return tookMs;
  });
});

it('adds and removes peers at run time', async () => {
  const [a, b, c] = [await startNode(1), await startNode(2), await startNode(3)];
  await connect(a, b);
  c.network.setPeers([addressOf(a)]);
  await until('refusal of a stranger', () => c.lines.some(({ event }) => /refused/.test(event)));
  expect(a.network.isConnected(c.id)).toBe(false);
  await connect(a, b, c);
  a.network.setPeers([addressOf(c)]);
  expect(a.heard.events.at(-1)).toBe('down 2');
  await until('b sees it', () => b.heard.events.includes('down 1'));
  expect(a.network.isConnected(c.id)).toBe(true);
});

it('leaves no handle and calls no handler when it stops', async () => {
  const sockets = (): number =>
    process.getActiveResourcesInfo().filter((name) => /^(TCP|TLS|HTTP)/.test(name)).length;
  const before = sockets();
  const [a, b, c] = [await startNode(1), await startNode(2), await startNode(3)];
  await connect(a, b, c);
  c.network.setPeers([addressOf(a), { nodeId: nodeId(7), host: '127.0.0.1', port: 9 }]);
  for (let i = 0; i < 100; i++) a.network.send(append(a, b, i, [Buffer.alloc(100_000)]));
  const query = { nodeId: a.id, directoryId: Uint8Array.of(9), lastIndex: logIndex(3) };
  const asked = a.network.queryState(b.id, query, 60_000);
  const events = a.heard.events.length;
  await stopNode(a);
  expect(await asked).toBeNull();
  await Promise.all([stopNode(b), stopNode(c)]);
  expect(a.heard.events).toHaveLength(events);
  await until('no sockets', () => sockets() <= before);
});

it('refuses a token that no header can carry', async () => {
  await expect(startNode(1, { token: 'schlüssel' })).rejects.toThrow('QUEEN_RAFT_TOKEN');
});
