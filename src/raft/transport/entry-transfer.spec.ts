/** A member that goes away while it sends entries: the asking side hears of it, and asks the next one. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { nodeId, term } from '../../common/ids.js';
import type { PeerHandlers, SharedEntry } from '../group/cluster/peer-port.js';
import { silentLog } from '../group-files.js';
import { contextOf } from './context.js';
import { fetchEntries, serveEntries } from './entry-transfer.js';
import type { TransportContext } from './options.js';

const IDS = { clusterId: new Uint8Array(4), directoryId: new Uint8Array(16) };
const ENTRY = { index: 7, term: term(1), kind: 'normal', payload: Buffer.from('x') } as const;

let server: Server;
/** What the member does once its first entry arrived. */
let leave: (socket: Socket) => void;
let arrived: () => void;

const contextAt = (node: number): TransportContext =>
  contextOf({ ...IDS, self: nodeId(node), token: null, log: silentLog });

beforeEach(async () => {
  const isThere = new Promise<void>((resolve) => (arrived = resolve));
  server = createServer((request, response) => {
    async function* entries(): AsyncGenerator<SharedEntry> {
      yield ENTRY;
      await isThere;
      leave(request.socket);
    }
    const handlers = { objection: () => null, entries } as unknown as PeerHandlers;
    void serveEntries(request, response, { handlers, context: contextAt(2) });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function fetched(): Promise<unknown[]> {
  const { port } = server.address() as AddressInfo;
  const member = { nodeId: nodeId(2), host: '127.0.0.1', port };
  const entries: unknown[] = [];
  for await (const entry of fetchEntries(member, [7], contextAt(1))) {
    entries.push(entry);
    arrived();
  }
  return entries;
}

it('hands on what the member sent', async () => {
  leave = () => undefined;
  expect(await fetched()).toEqual([ENTRY]);
});

it.each<[string, (socket: Socket) => void, RegExp]>([
  ['resets', (socket) => void socket.resetAndDestroy(), /^node 2 .*ECONNRESET/],
  ['closes', (socket) => void socket.destroy(), /^node 2 .*aborted/],
])('tells of a member that %s the connection in between', async (_, leaving, says) => {
  leave = leaving;
  await expect(fetched()).rejects.toThrow(says);
});
