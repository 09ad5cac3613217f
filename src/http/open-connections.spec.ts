/** Connections at the end of a server: silent, idle, in the middle of a request; with TLS as well. */
import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { certificateFolder, type CertificateFolder } from '../../test/support/certificates.js';
import { OpenConnections } from './open-connections.js';

const SILENT_MS = 1_000;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

describe.each(['http', 'https'] as const)('connections of an %s server', (scheme) => {
  let folder: CertificateFolder | null = null;
  let server: Server;
  let connections: OpenConnections;
  let nowMs: number;
  let waiting: ServerResponse[];
  /** Of the server; with TLS those below it. */
  let accepted: Socket[];
  const sockets: Socket[] = [];

  beforeAll(() => {
    if (scheme === 'https') folder = certificateFolder();
  });

  afterAll(() => folder?.remove());

  beforeEach(async () => {
    nowMs = 0;
    [waiting, accepted] = [[], []];
    const serve = (_request: unknown, response: ServerResponse): number => waiting.push(response);
    server =
      folder === null
        ? createServer(serve)
        : createTlsServer(
            { cert: readFileSync(folder.cert), key: readFileSync(folder.key) },
            serve,
          );
    connections = new OpenConnections(server, () => nowMs);
    server.on('connection', (socket) => accepted.push(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });

  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server.closeAllConnections();
    server.close();
  });

  async function open(kind = scheme): Promise<Socket> {
    const { port } = server.address() as AddressInfo;
    const arrived = new Promise((resolve) => server.once('connection', resolve));
    const to = { port, host: '127.0.0.1', rejectUnauthorized: false };
    const socket = kind === 'http' ? connect(to) : connectTls(to);
    socket.on('error', () => undefined);
    sockets.push(socket);
    const ready = kind === 'http' ? 'connect' : 'secureConnect';
    await Promise.all([arrived, new Promise((resolve) => socket.once(ready, resolve))]);
    return socket;
  }

  async function ask(socket: Socket): Promise<ServerResponse> {
    const asked = new Promise((resolve) => server.once('request', resolve));
    socket.write(REQUEST);
    await asked;
    return waiting.pop() as ServerResponse;
  }

  const closed = (): Promise<void> =>
    new Promise((resolve, reject) => {
      server.close((error) => (error === undefined ? resolve() : reject(error)));
    });

  it('closes those that never asked, after their time, and one that is idle', async () => {
    const idle = await open();
    const answered = new Promise((resolve) => idle.once('data', resolve));
    (await ask(idle)).end('done');
    await answered;
    await open();
    if (scheme === 'https') await open('http');
    const left = new Promise((resolve) => idle.once('close', resolve));
    nowMs += SILENT_MS - 1;
    connections.closeIdle(SILENT_MS);
    await left;
    const [, ...silent] = accepted;
    expect(silent.map(({ destroyed }) => destroyed)).toEqual(silent.map(() => false));
    const end = closed();
    nowMs += 1;
    connections.closeIdle(SILENT_MS);
    await end;
  });

  it('listens to requests no longer than a connection is silent', async () => {
    const alone = server.listenerCount('request');
    const socket = await open();
    expect(server.listenerCount('request')).toBe(alone + 1);
    await ask(socket);
    expect(server.listenerCount('request')).toBe(alone);
    (await open()).destroy();
    const end = performance.now() + 20_000;
    while (server.listenerCount('request') > alone && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(server.listenerCount('request')).toBe(alone);
  });

  it('spares a request in flight until all are cut', async () => {
    const busy = await open();
    const { socket } = await ask(busy);
    nowMs += 2 * SILENT_MS;
    const end = closed();
    connections.closeIdle(SILENT_MS);
    // With TLS two sockets of one connection.
    const served = [...accepted, socket].map((one) => one?.destroyed);
    expect(served).toEqual([false, false]);
    connections.closeAll();
    await end;
  });
});
