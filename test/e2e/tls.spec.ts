/** HTTPS on the API port: a request through it, what is not TLS, and a pair that changes while it runs. */
import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import type { Server } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { ConfigError, loadConfig } from '../../src/config/index.js';
import { TlsFiles } from '../../src/http/tls-files.js';
import { recordingLogger } from '../../src/logging/index.js';
import { TestBroker } from '../support/broker.js';
import { certificateFolder, textOf, type CertificateFolder } from '../support/certificates.js';
import { eventually } from './calls.js';
import { RawClient } from './raw-http.js';

interface SecureAnswer {
  readonly status: number;
  readonly body: string;
  /** Common name of the certificate the server showed. */
  readonly shown: string;
  readonly protocol: string | null;
}

function send(port: number, path: string, body?: string): Promise<SecureAnswer> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const options = { host: '127.0.0.1', port, path, method, rejectUnauthorized: false };
    const call = request({ ...options, agent: false }, (answer) => {
      const socket = answer.socket as TLSSocket;
      const shown = String(socket.getPeerCertificate().subject.CN);
      const protocol = socket.getProtocol();
      let text = '';
      answer.on('data', (chunk) => (text += String(chunk)));
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, body: text, shown, protocol }),
      );
    });
    call.on('error', reject);
    call.end(body);
  });
}

describe('with a certificate', () => {
  let files: CertificateFolder;
  let broker: TestBroker;

  beforeAll(async () => {
    files = certificateFolder('first');
    broker = await TestBroker.start({ QUEEN_TLS_CERT: files.cert, QUEEN_TLS_KEY: files.key });
  });

  afterAll(async () => {
    await broker.stop();
    files.remove();
  });

  it('serves every call over TLS', async () => {
    const port = broker.portNumber;
    const body = JSON.stringify({ items: [{ queue: 'q', payload: 'é' }] });
    expect(await send(port, '/api/v1/push', body)).toMatchObject({ status: 201, shown: 'first' });
    const popped = await send(port, '/api/v1/pop/queue/q');
    expect(JSON.parse(popped.body).messages[0].data).toBe('é');
    expect(popped.protocol).toMatch(/^TLSv1\.[23]$/);
    expect((await send(port, '/api/v1/nope')).status).toBe(404);
  });

  it.each([
    ['plain HTTP', 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['garbage', '\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007'],
  ])('closes on %s and serves on', async (_what, text) => {
    const client = await RawClient.open(broker.portNumber);
    client.write(Buffer.from(text, 'latin1'));
    await client.closed();
    expect((await send(broker.portNumber, '/health')).status).toBe(200);
  });
});

describe('inside TLS', () => {
  it('a malformed request is answered, then closed', async () => {
    const files = certificateFolder();
    const broker = await TestBroker.start({ QUEEN_TLS_CERT: files.cert, QUEEN_TLS_KEY: files.key });
    const socket = connect({ port: broker.portNumber, rejectUnauthorized: false });
    let text = '';
    socket.on('data', (chunk) => (text += String(chunk)));
    socket.write('no HTTP\r\n\r\n');
    await new Promise((resolve) => socket.once('close', resolve));
    expect(text).toMatch(/^HTTP\/1.1 400 /);
    await broker.stop();
    files.remove();
  });
});

describe('files that change', () => {
  it('are used for new connections once they fit together, and told when they do not', async () => {
    const files = certificateFolder('first');
    const log = recordingLogger();
    const paths = { certPath: files.cert, keyPath: files.key };
    const tls = TlsFiles.open(paths, log.child('http'));
    const contexts: string[] = [];
    const server = {
      setSecureContext: ({ cert }: { cert: Buffer }) => contexts.push(String(cert)),
    };
    tls.watch(server, 5);
    const errors = () => log.lines.filter(({ level }) => level === 'error');

    const good = textOf(files.key);
    writeFileSync(files.key, 'half a key');
    // This stand-in takes anything; a real one refuses what does not fit.
    server.setSecureContext = () => {
      throw new Error('key values mismatch');
    };
    await eventually(async () => (errors().length > 0 ? true : null));
    expect(tls.pair.key.toString()).toBe(good);
    server.setSecureContext = ({ cert }) => contexts.push(String(cert));

    files.renew('second');
    const renewed = textOf(files.cert);
    await eventually(async () => (contexts.at(-1) === renewed ? true : null));
    expect(errors().length).toBeLessThan(3);
    tls.close();
    files.remove();
  });

  it('reach the port of a running broker', async () => {
    const files = certificateFolder('first');
    const env = { QUEEN_TLS_CERT: files.cert, QUEEN_TLS_KEY: files.key };
    const broker = await TestBroker.start(env);
    const paths = { certPath: files.cert, keyPath: files.key };
    const tls = TlsFiles.open(paths, recordingLogger().child('http'));
    tls.watch(broker.nest.getHttpServer() as unknown as Server, 5);
    try {
      expect((await send(broker.portNumber, '/health')).shown).toBe('first');
      files.renew('second');
      await eventually(async () =>
        (await send(broker.portNumber, '/health')).shown === 'second' ? true : null,
      );
    } finally {
      tls.close();
      await broker.stop();
      files.remove();
    }
  });
});

describe('boot', () => {
  it.each([{ QUEEN_TLS_CERT: 'a' }, { QUEEN_TLS_KEY: 'a' }])('needs both: %j', (env) => {
    expect(() => loadConfig(env)).toThrow(ConfigError);
  });

  it('fails when a file is missing or no pair, and names the files, not their bytes', async () => {
    const files = certificateFolder();
    const other = certificateFolder();
    const start = (cert: string, key: string): Promise<TestBroker> =>
      TestBroker.start({ QUEEN_TLS_CERT: cert, QUEEN_TLS_KEY: key });
    await expect(start('/nowhere/cert.pem', files.key)).rejects.toThrow('/nowhere/cert.pem');
    await expect(start(files.cert, other.key)).rejects.toThrow('QUEEN_TLS_KEY');
    await expect(start(files.key, files.cert)).rejects.toThrow('QUEEN_TLS_CERT');
    for (const folder of [files, other]) folder.remove();
  });
});
