/** The age of popped messages by queue, of the bucket that was turned last. */
import { Registry } from 'prom-client';
import { QueueTraffic } from '../../http/queue-traffic.js';
import { registerFamily } from '../family.js';
import { popLagFamily } from './queues.js';

const TENANT = new Uint8Array(16).fill(7);

it('shows average and maximum of the last full bucket, and nothing of an idle one', async () => {
  const traffic = new QueueTraffic();
  const registry = new Registry();
  registerFamily(registry, popLagFamily(traffic));
  traffic.of(TENANT, 'q').delivered(2, { sumMs: 30, maxMs: 25 });
  expect(await registry.metrics()).not.toContain('queue="q"');
  traffic.turn();
  const text = await registry.metrics();
  expect(text).toMatch(/\{tenant="07070707[^"]*",queue="q",stat="avg"\} 15\n/);
  expect(text).toMatch(/\{tenant="07070707[^"]*",queue="q",stat="max"\} 25\n/);
  traffic.turn();
  expect(await registry.metrics()).not.toContain('queue="q"');
});
