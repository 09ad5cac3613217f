/** Two networks with a failing network between them: cuts one by one, pauses, delays. */
import { FaultMesh } from '../../support/fault-proxy.js';
import { append, heartbeat, popOf, quickest, startNode, stopAll, until } from './recorder.js';
import type { TestNode } from './recorder.js';

let mesh: FaultMesh | undefined;

afterEach(async () => {
  await stopAll();
  await mesh?.close();
});

async function pair(): Promise<{ a: TestNode; b: TestNode; net: FaultMesh }> {
  const [a, b] = [await startNode(1), await startNode(2)];
  const net = await FaultMesh.start(
    new Map([a, b].map(({ id, port }) => [id, { host: '127.0.0.1', port }])),
  );
  mesh = net;
  a.network.setPeers([{ nodeId: b.id, ...net.address(1, 2) }]);
  b.network.setPeers([{ nodeId: a.id, ...net.address(2, 1) }]);
  await bothUp(a, b);
  return { a, b, net };
}

const bothUp = (a: TestNode, b: TestNode): Promise<number> =>
  until('up', () => a.network.isConnected(b.id) && b.network.isConnected(a.id));
const bothDown = (a: TestNode, b: TestNode): Promise<number> =>
  until('down', () => !a.network.isConnected(b.id) && !b.network.isConnected(a.id));

it('notices a one-way cut on both sides and heals', async () => {
  const { a, b, net } = await pair();
  const [seenByA, seenByB] = [['up 2'], ['up 1']];
  await quickest(4000, async () => {
    net.set(1, 2, { cut: 'blackhole' });
    const tookMs = await bothDown(a, b);
    expect(tookMs).toBeGreaterThan(1000);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    seenByA.push('down 2');
    seenByB.push('down 1');
    expect([a.heard.events, b.heard.events]).toEqual([seenByA, seenByB]);
    net.heal();
    const healedMs = await bothUp(a, b);
    console.log(
      `one-way cut noticed in ${tookMs.toFixed(0)} ms, healed in ${healedMs.toFixed(0)} ms`,
    );
    seenByA.push('up 2');
    seenByB.push('up 1');
    expect([a.heard.events, b.heard.events]).toEqual([seenByA, seenByB]);
    return tookMs;
  });
  a.network.send(heartbeat(a, b, 8));
  await until('a heartbeat', () => b.heard.messages.length === 1);
});

it('survives resets and loses what was under way, without holes', async () => {
  const { a, b, net } = await pair();
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 200; i++)
      a.network.send(append(a, b, round * 200 + i, [Buffer.alloc(3000)]));
    await new Promise((resolve) => setTimeout(resolve, 5));
    net.set(1, 2, { cut: 'reset' });
    await bothDown(a, b);
    net.heal();
    await bothUp(a, b);
  }
  const order = b.heard.messages.map((m) => (m.kind === 'append-request' ? m.prevIndex : -1));
  expect(order).toEqual([...order].sort((x, y) => x - y));
  expect(a.heard.events).toHaveLength(11);
});

it('drops the pops of a peer that went away, and delivers later ones after `up`', async () => {
  const { a, b, net } = await pair();
  a.network.forwardPop(b.id, popOf(1));
  await until('a pop', () => b.heard.pops.length === 1);
  net.set(1, 2, { cut: 'reset' });
  await bothDown(a, b);
  expect(a.network.forwardPop(b.id, popOf(2))).toBe(false);
  net.heal();
  await until('up', () => a.network.isConnected(b.id));
  a.network.forwardPop(b.id, popOf(3));
  await until('a pop', () => b.heard.pops.length === 2);
  expect(b.heard.events).toEqual(['up 1', 'pop 1', 'down 1', 'up 1', 'pop 3']);
  b.heard.pops[0]?.reply({ kind: 'refused', code: 'retry' });
  b.heard.pops[1]?.reply({ kind: 'refused', code: 'overloaded' });
  await until('a reply', () => a.heard.replies.length > 0);
  expect(a.heard.replies).toEqual([{ kind: 'refused', code: 'overloaded' }]);
});

it('delays as told', async () => {
  const { a, b, net } = await pair();
  net.set(1, 2, { delayMs: 120 });
  await quickest(400, async () => {
    const before = b.heard.messages.length;
    a.network.send(heartbeat(a, b));
    const tookMs = await until('a heartbeat', () => b.heard.messages.length > before);
    expect(tookMs).toBeGreaterThan(110);
    return tookMs;
  });
});
