/** Entries for a repair over the raft port: whole or not at all, and only to members of the cluster. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { nodeId, term, type NodeId } from '../../../src/common/ids.js';
import type { SharedEntry } from '../../../src/raft/group/cluster/peer-port.js';
import { contextOf, fetchEntries } from '../../../src/raft/transport/index.js';
import { addressOf, startNode, stopAll, type NodeOptions, type TestNode } from './recorder.js';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
let node: TestNode;

beforeEach(async () => {
  node = await startNode(2);
});

afterEach(() => stopAll());

const own = {
  self: nodeId(1),
  token: 'secret',
  clusterId: Uint8Array.of(7),
  directoryId: Uint8Array.of(1),
  log: silent,
};

async function ask(
  indexes: readonly number[],
  options: NodeOptions & { readonly self?: NodeId } = {},
): Promise<SharedEntry[]> {
  const found: SharedEntry[] = [];
  const context = contextOf({ ...own, ...options });
  for await (const entry of fetchEntries(addressOf(node), indexes, context)) found.push(entry);
  return found;
}

function tells(...entries: readonly SharedEntry[]): void {
  node.heard.entries = async function* () {
    yield* entries;
  };
}

const entry = (index: number, bytes: number): SharedEntry => ({
  ...{ index, term: term(3), kind: 'normal', payload: Buffer.alloc(bytes, index) },
});

it('carries entries of any size, and those that are not kept', async () => {
  const told: SharedEntry[] = [
    entry(4, 0),
    { ...entry(5, 10), kind: 'membership' },
    { index: 7, term: term(0), kind: 'empty', payload: null },
    { ...entry(8, 0), kind: 'empty' },
    entry(9, 5_000_000),
  ];
  let asked: readonly number[] = [];
  node.heard.entries = async function* (indexes: readonly number[]) {
    asked = indexes;
    yield* told;
  };
  const found = await ask([4, 5, 7, 8, 9]);
  expect(asked).toEqual([4, 5, 7, 8, 9]);
  expect(found).toEqual(told);
  expect(await ask([])).toEqual([]);
});

it('never takes an answer that broke off for the end', async () => {
  node.heard.entries = async function* () {
    yield entry(1, 100);
    yield await Promise.reject(new Error('damaged here too'));
  };
  await expect(ask([1, 2])).rejects.toThrow('node 2');
  const line = node.lines.find(({ event }) => event === 'raft: entries for a repair broke off');
  expect(line?.fields['why']).toContain('damaged here too');
});

it.each([
  ['the wrong token', { token: 'wrong' }, '401'],
  ['another cluster', { clusterId: Uint8Array.of(8) }, 'belongs to another cluster'],
  ['another recovery generation', { generation: 4 }, 'recovery generation'],
  ['the id of the node that is asked', { self: nodeId(2) }, 'has the node id of this node'],
])('is refused with %s', async (_name, options, why) => {
  tells(entry(1, 1));
  await stopAll();
  node = await startNode(2, { generation: 3 });
  tells(entry(1, 1));
  await expect(ask([1], { ...options })).rejects.toThrow(why);
});

it('is refused for a node that may not come back, and by one that cannot tell', async () => {
  node.heard.unwelcome.add(nodeId(1));
  await expect(ask([1])).rejects.toThrow('is not welcome');
  node.heard.unwelcome.clear();
  await expect(ask([1])).rejects.toThrow('answered 409 {"error":"has none"}');
});

it.each(['', '[]', '{"ranges":[[2,1]]}', '{"ranges":[[1,2],[2,3]]}', '{"ranges":[[1,99999999]]}'])(
  'refuses the body %p',
  async (body) => {
    const { identityHeaders } = await import('../../../src/raft/transport/handshake.js');
    const headers = { ...identityHeaders(contextOf(own)), 'x-queen-raft-token': 'secret' };
    const response = await fetch(`http://127.0.0.1:${node.port}/raft/v1/entries`, {
      ...{ method: 'POST', headers, body },
    });
    expect(response.status).toBe(400);
    await response.text();
  },
);

describe('a liar', () => {
  let server: Server;

  afterEach(() => void server.close());

  it.each([
    ['changed bytes', Buffer.concat([Buffer.alloc(13, 1), Buffer.alloc(8)]), 'changed on the way'],
    ['half a frame', Buffer.from([1, 2, 3]), 'broke off'],
  ])('with %s is not believed', async (_name, bytes, why) => {
    server = createServer((_request, response) => response.end(bytes));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const address = { nodeId: nodeId(3), host: '127.0.0.1', port };
    const read = async (): Promise<void> => {
      for await (const { index } of fetchEntries(address, [1], contextOf(own))) {
        throw new Error(`believed entry ${index}`);
      }
    };
    await expect(read()).rejects.toThrow(why);
  });
});
