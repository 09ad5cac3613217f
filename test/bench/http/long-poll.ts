/** How long a waiting pop takes to wake up: from the push that is sent to the pop that is answered. */
import { atMost, type Budget } from './budgets.js';
import { Connection } from './connection.js';
import { median } from './latency-record.js';
import { sleep, type ServerProcess } from './server-process.js';

const WAKE_UPS = 100;
/** The pop is certainly parked after this time; varied so that no timer of the broker is in step. */
const PARK_MS = 15;

export async function measureLongPoll(broker: ServerProcess): Promise<Budget> {
  const pusher = await Connection.open(broker.port);
  const popper = await Connection.open(broker.port);
  const waits: number[] = [];
  try {
    const path =
      '/api/v1/pop/queue/long-poll?batch=1&wait=true&timeout=10000&commitOnDelivery=true';
    for (let i = 0; i < WAKE_UPS; i += 1) {
      const popped = popper
        .request('GET', path)
        .then((answer) => ({ answer, at: performance.now() }));
      await sleep(PARK_MS + (i % 17));
      const body = `{"items":[{"queue":"long-poll","transactionId":"w-${i}","payload":${i}}]}`;
      const sentAt = performance.now();
      const pushed = await pusher.request('POST', '/api/v1/push', body);
      const { answer, at } = await popped;
      if (pushed.status !== 201 || !answer.text.includes(`"w-${i}"`)) {
        throw new Error(`long poll: ${pushed.status} ${answer.status} ${answer.text}`);
      }
      waits.push(at - sentAt);
    }
  } finally {
    pusher.close();
    popper.close();
  }
  return atMost(`wake-up of a waiting pop, median of ${WAKE_UPS}, ms`, median(waits), 20);
}
