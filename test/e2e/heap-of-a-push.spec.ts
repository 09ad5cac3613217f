/**
 * A large push allocates nothing on the heap per message: the sampling heap profiler, collected garbage
 * included, charges the broker's own code with less than a view of bytes for each. QUEEN_TEST_PUSH_MIB=64
 * prints the profile of a push of that size.
 */
import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { TestBroker } from '../support/broker.js';

const MIB = 1024 * 1024;
const SOURCES = `${process.cwd()}/src/`;
/** What code that is not compiled boxes, 40 to 80 B, and less than that with one view (100 B) for each. */
const LEAST_OBJECT_BYTES = 100;
const MAX_ROUNDS = 6;

interface ProfileNode {
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
  readonly selfSize: number;
  readonly children: readonly ProfileNode[];
}

function body(
  mib: number,
  id = 't',
): { readonly bytes: Uint8Array<ArrayBuffer>; readonly items: number } {
  const pad = 'x'.repeat(40);
  const parts: string[] = [];
  let length = 0;
  while (length < mib * MIB - 200) {
    const i = parts.length;
    const item = `{"queue":"big","partition":"p${i % 50}","transactionId":"${id}${i}","payload":{"n":${i},"pad":"${pad}"}}`;
    parts.push(item);
    length += item.length + 1;
  }
  return { bytes: new TextEncoder().encode(`{"items":[${parts.join(',')}]}`), items: parts.length };
}

/** Heap bytes per function of the broker. */
function bySource(node: ProfileNode, into = new Map<string, number>()): Map<string, number> {
  const { url, functionName, lineNumber } = node.callFrame;
  const file = url.replace('file://', '');
  if (file.startsWith(SOURCES)) {
    const name = `${functionName} ${relative(SOURCES, file)}:${lineNumber + 1}`;
    into.set(name, (into.get(name) ?? 0) + node.selfSize);
  }
  for (const child of node.children) bySource(child, into);
  return into;
}

describe('a large push', () => {
  const asked = process.env['QUEEN_TEST_PUSH_MIB'];
  const mib = Number(asked ?? 8);
  let broker: TestBroker;

  beforeAll(async () => {
    broker = await TestBroker.start();
  });

  afterAll(() => broker.stop());

  /** One measured push: the profile of the broker's functions, largest first. */
  async function measured(id: string): Promise<readonly (readonly [string, number])[]> {
    const { bytes } = body(mib, id);
    const session = new Session();
    session.connect();
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: 8 * 1024,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    const answer = await fetch(`${broker.url}/api/v1/push`, { method: 'POST', body: bytes });
    const { profile } = await session.post('HeapProfiler.stopSampling');
    session.disconnect();
    expect(answer.status).toBe(201);
    await answer.arrayBuffer();
    return [...bySource(profile.head)].sort(([, a], [, b]) => b - a);
  }

  it('makes no object per payload', async () => {
    const { items } = body(mib);
    let perMessage = Infinity;
    // Code that is not compiled yet boxes its numbers: an object per payload is one in every round.
    for (let round = 0; round < MAX_ROUNDS && perMessage >= LEAST_OBJECT_BYTES; round += 1) {
      const sizes = await measured(`r${round}-`);
      perMessage = sizes.reduce((sum, [, size]) => sum + size, 0) / items;
      if (asked === undefined) continue;
      const rows = sizes
        .slice(0, 15)
        .map(([name, size]) => `${String(size).padStart(10)}  ${name}`);
      console.log(`${items} messages: ${perMessage.toFixed(1)} heap B each\n${rows.join('\n')}`);
    }
    expect(perMessage).toBeLessThan(LEAST_OBJECT_BYTES);
  }, 240_000);
});
