/**
 * A peer that does not keep up costs bounded memory, and a flood of appends does not delay control.
 * The bench prints what appends reach on loopback, sender and receiver in this one process.
 */
import { FaultMesh } from '../../support/fault-proxy.js';
import { append, connect, heartbeat, quickest, startNode, stopAll, until } from './recorder.js';

const MIB = 1024 * 1024;
let mesh: FaultMesh | undefined;

afterEach(async () => {
  await stopAll();
  await mesh?.close();
  mesh = undefined;
});

it('keeps what waits for a slow peer within its bounds', async () => {
  const limits = { appendQueueBytes: 4 * MIB, commandQueueBytes: 2 * MIB, silentMs: 60_000 };
  const [a, b] = [await startNode(1, { limits }), await startNode(2, { limits })];
  const net = await FaultMesh.start(
    new Map([a, b].map(({ id, port }) => [id, { host: '127.0.0.1', port }])),
  );
  mesh = net;
  a.network.setPeers([{ nodeId: b.id, ...net.address(1, 2) }]);
  b.network.setPeers([{ nodeId: a.id, ...net.address(2, 1) }]);
  await until('up', () => a.network.isConnected(b.id) && b.network.isConnected(a.id));
  net.set(1, 2, { cut: 'pause' });
  const payload = Buffer.alloc(64 * 1024, 1);
  let taken = 0;
  for (let i = 0; i < 2000; i++) {
    a.network.send(append(a, b, i, [payload]));
    if (a.network.forwardCommand(b.id, payload)) taken += 1;
    if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    const { appends, commands } = a.network.figures(b.id);
    expect(appends).toBeLessThanOrEqual(4 * MIB);
    expect(commands).toBeLessThanOrEqual(2 * MIB);
  }
  expect(a.network.figures(b.id).appends).toBeGreaterThan(3 * MIB);
  expect(a.network.forwardCommand(b.id, payload)).toBe(false);
  expect(taken).toBeLessThan(1000);
  net.heal();
  await until('all taken commands', () => b.heard.commands.length === taken);
  await until('an empty queue', () => a.network.figures(b.id).appends === 0);
  expect(a.network.forwardCommand(b.id, payload)).toBe(true);
});

it('takes one frame of any size up to the limit, and none above it', async () => {
  const limits = { maxFrameBytes: 8 * MIB, commandQueueBytes: MIB };
  const [a, b] = [await startNode(1, { limits }), await startNode(2, { limits })];
  await connect(a, b);
  expect(a.network.forwardCommand(b.id, Buffer.alloc(6 * MIB, 5))).toBe(true);
  expect(a.network.forwardCommand(b.id, Buffer.alloc(8 * MIB))).toBe(false);
  await until('the command', () => b.heard.commands.length === 1);
  expect(b.heard.commands[0]?.length).toBe(6 * MIB);
  expect(a.heard.events).toEqual(['up 2']);
});

it('does not delay control behind a flood of appends', async () => {
  const [a, b] = [await startNode(1), await startNode(2)];
  await connect(a, b);
  const payload = Buffer.alloc(256 * 1024, 1);
  let index = 0;
  await quickest(100, async () => {
    const sentMs: number[] = [];
    const delays: number[] = [];
    let appends = 0;
    b.heard.onMessage = (message) => {
      if (message.kind !== 'heartbeat') appends += 1;
      else delays.push(performance.now() - (sentMs[message.readRound] ?? 0));
    };
    const endMs = performance.now() + 2000;
    while (performance.now() < endMs) {
      while (a.network.figures(b.id).appends < 48 * MIB)
        a.network.send(append(a, b, index++, [payload]));
      sentMs.push(performance.now());
      a.network.send(heartbeat(a, b, sentMs.length - 1));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await until('all heartbeats', () => delays.length === sentMs.length);
    delays.sort((x, y) => x - y);
    const at = (share: number): number => delays[Math.floor(delays.length * share)] ?? Infinity;
    console.log(
      `control under a flood of ${((appends * payload.length) / 2 / MIB).toFixed(0)} MiB/s: ` +
        `p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms of ${delays.length}`,
    );
    expect(appends).toBeGreaterThan(0);
    return at(0.9);
  });
});

it('prints the throughput of append frames', async () => {
  const [a, b] = [await startNode(1), await startNode(2)];
  await connect(a, b);
  for (const [payloadBytes, perFrame, bytes] of [
    [256, 64, 40 * MIB],
    [16 * 1024, 16, 400 * MIB],
    [1024 * 1024, 1, 800 * MIB],
  ] as const) {
    const payload = Buffer.alloc(payloadBytes, 1);
    const payloads = Array.from({ length: perFrame }, () => payload);
    const frames = Math.ceil(bytes / (payloadBytes * perFrame));
    let arrived = 0;
    b.heard.onMessage = () => (arrived += 1);
    const startMs = performance.now();
    for (let i = 0; i < frames; i++) {
      while (a.network.figures(b.id).appends > 16 * MIB) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      a.network.send(append(a, b, i * perFrame, payloads));
    }
    await until('all frames', () => arrived === frames, 60_000);
    const seconds = (performance.now() - startMs) / 1000;
    const megabytes = (frames * payloadBytes * perFrame) / 1e6;
    console.log(
      `appends of ${perFrame} x ${payloadBytes} B: ${(megabytes / seconds).toFixed(0)} MB/s, ` +
        `${((frames * perFrame) / seconds).toFixed(0)} entries/s`,
    );
  }
});
