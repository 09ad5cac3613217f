/** Mutual TLS on the raft port: who gets in, who does not, and files that are replaced while it runs. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as dialPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as dialTls, type ConnectionOptions } from 'node:tls';
import { logIndex } from '../../../src/common/ids.js';
import { ConfigError } from '../../../src/config/index.js';
import { PeerTlsFiles } from '../../../src/raft/peer-tls.js';
import type { GroupLog } from '../../../src/raft/group/ports.js';
import { TestAuthority, type SignedPair } from '../../support/certificates.js';
import { addressOf, connect, heartbeat, startNode, stopAll, until } from './recorder.js';
import type { TestNode } from './recorder.js';

const CHECK_MS = 5;
const ours = new TestAuthority('ours');
const theirs = new TestAuthority('theirs');
const folders: string[] = [];

afterEach(stopAll);

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Certificate, key and authority of one node, as files. */
class NodeFiles {
  readonly told: string[] = [];
  readonly tls: PeerTlsFiles;
  private readonly folder = mkdtempSync(join(tmpdir(), 'queen-peer-tls-'));
  readonly paths = {
    cert: join(this.folder, 'cert.pem'),
    key: join(this.folder, 'key.pem'),
    ca: join(this.folder, 'ca.pem'),
  };

  constructor(name: string) {
    folders.push(this.folder);
    this.write(ours.sign(name));
    this.believe(ours.cert);
    const tell = (event: string): void => void this.told.push(event);
    const log: GroupLog = { info: tell, warn: tell, error: tell };
    this.tls = PeerTlsFiles.open(this.paths, log, CHECK_MS);
  }

  write({ cert, key }: SignedPair): void {
    writeFileSync(this.paths.cert, cert);
    writeFileSync(this.paths.key, key);
  }

  believe(...authorities: readonly string[]): void {
    writeFileSync(this.paths.ca, authorities.join(''));
  }
}

/** What a stranger is shown, or why it was turned away. */
function greet(node: TestNode, options: ConnectionOptions): Promise<string> {
  return new Promise((resolve) => {
    const socket = dialTls({
      host: '127.0.0.1',
      port: node.port,
      rejectUnauthorized: false,
      ...options,
    });
    let answer = '';
    socket.on('secureConnect', () =>
      socket.write('GET /raft/v1/nothing HTTP/1.1\r\nhost: x\r\n\r\n'),
    );
    socket.on('data', (chunk) => {
      answer = `${String(socket.getPeerCertificate().subject.CN)} ${String(chunk).slice(9, 12)}`;
      socket.destroy();
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve(answer === '' ? 'turned away' : answer));
  });
}

const asPair = ({ cert, key }: SignedPair): ConnectionOptions => ({ cert, key });

it('lets members of its authority in, and calls and streams work', async () => {
  const a = await startNode(1, { tls: new NodeFiles('one').tls });
  const b = await startNode(2, { tls: new NodeFiles('two').tls });
  await connect(a, b);
  a.network.send(heartbeat(a, b, 3));
  await until('a heartbeat', () => b.heard.messages.length === 1);
  const query = { nodeId: a.id, directoryId: Uint8Array.of(9), lastIndex: logIndex(3) };
  expect(await a.network.queryState(b.id, query, 2000)).toEqual(b.heard.stateAnswer);
});

it('turns everybody else away before a byte of HTTP, also with the right token', async () => {
  const node = await startNode(1, { tls: new NodeFiles('one').tls });
  expect(await greet(node, asPair(ours.sign('member')))).toBe('one 401');
  expect(await greet(node, {})).toBe('turned away');
  expect(await greet(node, asPair(theirs.sign('member')))).toBe('turned away');
  const query = { nodeId: node.id, directoryId: Uint8Array.of(9), lastIndex: logIndex(3) };
  const strangers = new NodeFiles('stranger');
  strangers.write(theirs.sign('stranger'));
  strangers.believe(ours.cert, theirs.cert);
  const foreign = PeerTlsFiles.open(strangers.paths, { info() {}, warn() {}, error() {} });
  for (const [id, tls] of [[3], [4, foreign]] as const) {
    const stranger = await startNode(id, tls === undefined ? {} : { tls });
    stranger.network.setPeers([addressOf(node)]);
    expect(await stranger.network.queryState(node.id, query, 1000)).toBeNull();
  }
  expect([node.heard.queries, node.heard.events]).toEqual([[], []]);
});

it('does not wait for a handshake that does not come, and serves on', async () => {
  const limits = { handshakeMs: 300, maxConnections: 8 };
  const node = await startNode(1, { tls: new NodeFiles('one').tls, limits });
  const slow = ['', '\x16\x03\x01', '\x16\x03\x01\x02\x00\x01', 'GET / HTTP/1.1\r\n\r\n'];
  const closed = slow.map((bytes) => {
    const socket = dialPlain(node.port, '127.0.0.1');
    socket.on('error', () => socket.destroy());
    if (bytes !== '') socket.write(Buffer.from(bytes, 'latin1'));
    return new Promise((resolve) => socket.on('close', resolve));
  });
  await Promise.all(closed);
  expect(await greet(node, asPair(ours.sign('member')))).toBe('one 401');
});

describe('files that are replaced', () => {
  const shown = (node: TestNode, by = ours): Promise<string> => greet(node, asPair(by.sign('m')));

  it('are used for what is opened from then on; streams that stand stay', async () => {
    const [one, two] = [new NodeFiles('one'), new NodeFiles('two')];
    const a = await startNode(1, { tls: one.tls });
    const b = await startNode(2, { tls: two.tls });
    await connect(a, b);
    // To another authority without a gap: both are believed, then every certificate, then only the new one.
    const next = new TestAuthority('next');
    const all = [one, two];
    const reread = async (times: number): Promise<void> => {
      await until('files read again', () =>
        all.every(
          ({ told }) => told.filter((event) => event.includes('read again')).length >= times,
        ),
      );
    };
    for (const files of all) files.believe(ours.cert, next.cert);
    await reread(1);
    one.write(next.sign('one again'));
    two.write(next.sign('two again'));
    await reread(2);
    expect(await shown(a)).toBe('one again 401');
    expect(await shown(b, next)).toBe('two again 401');
    expect([a.heard.events, b.heard.events]).toEqual([['up 2'], ['up 1']]);
    for (const files of all) files.believe(next.cert);
    await reread(3);
    expect(await shown(a, ours)).toBe('turned away');
    expect(await shown(a, next)).toBe('one again 401');
    // New streams, with what is new on both sides.
    a.network.setPeers([]);
    await until('the streams to end', () => b.heard.events.includes('down 1'));
    a.network.setPeers([addressOf(b)]);
    await until('new streams', () => a.network.isConnected(b.id) && b.network.isConnected(a.id));
    a.network.send(heartbeat(a, b, 5));
    await until('a heartbeat', () => b.heard.messages.length === 1);
  });

  it.each([
    ['half a certificate', (files: NodeFiles) => files.write({ ...ours.sign('x'), cert: 'half' })],
    [
      'a key of another',
      (files: NodeFiles) => files.write({ ...ours.sign('x'), key: theirs.sign('y').key }),
    ],
    ['no authority', (files: NodeFiles) => files.believe('nobody')],
    ['a file that is gone', (files: NodeFiles) => rmSync(files.paths.key)],
  ])('and cannot be used (%s) are told of, and the old ones stay', async (_, spoil) => {
    const files = new NodeFiles('old');
    const node = await startNode(1, { tls: files.tls });
    spoil(files);
    await until('the refusal', () => files.told.some((event) => event.includes('cannot be used')));
    expect(await shown(node)).toBe('old 401');
    files.write(ours.sign('renewed'));
    files.believe(ours.cert);
    await until('the renewed pair', () => files.told.includes('raft: TLS files read again'));
    expect(await shown(node)).toBe('renewed 401');
  });
});

it.each([
  ['a missing file', (files: NodeFiles) => rmSync(files.paths.cert)],
  [
    'files that do not belong together',
    (files: NodeFiles) => files.write({ ...ours.sign('x'), key: theirs.sign('y').key }),
  ],
  ['no authority', (files: NodeFiles) => files.believe('')],
])('%s stops the boot and names the variables', (_, spoil) => {
  const files = new NodeFiles('one');
  spoil(files);
  const open = (): unknown => PeerTlsFiles.open(files.paths, { info() {}, warn() {}, error() {} });
  expect(open).toThrow(ConfigError);
  expect(open).toThrow(/QUEEN_RAFT_TLS_CERT, QUEEN_RAFT_TLS_KEY and QUEEN_RAFT_TLS_CA: .*ca\.pem/);
});
