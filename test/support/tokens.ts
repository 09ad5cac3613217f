/** Tokens and keys for tests: every algorithm, any claims, and a JWKS server whose set can change. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT } from 'jose';

export const SECRET = 'a secret that only this test and its broker know';

export interface TokenOptions {
  readonly alg?: string;
  readonly kid?: string;
  readonly key?: KeyObject | Uint8Array;
}

export const secondsNow = (): number => Math.floor(Date.now() / 1000);

export function tokenOf(
  claims: Readonly<Record<string, unknown>>,
  { alg = 'HS256', kid, key = Buffer.from(SECRET) }: TokenOptions = {},
): Promise<string> {
  const header = { alg, ...(kid === undefined ? {} : { kid }) };
  return new SignJWT({ ...claims }).setProtectedHeader(header).sign(key);
}

export interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
  readonly pem: string;
}

export function rsaKeys(bits = 2048): KeyPair {
  return withPem(generateKeyPairSync('rsa', { modulusLength: bits }));
}

export function edKeys(): KeyPair {
  return withPem(generateKeyPairSync('ed25519'));
}

function withPem(pair: Omit<KeyPair, 'pem'>): KeyPair {
  return { ...pair, pem: String(pair.publicKey.export({ type: 'spki', format: 'pem' })) };
}

export const jwkOf = ({ publicKey }: KeyPair, kid?: string): object => ({
  ...publicKey.export({ format: 'jwk' }),
  ...(kid === undefined ? {} : { kid }),
});

export class JwksServer {
  /** What the next fetch gets. */
  body = JSON.stringify({ keys: [] });
  status = 200;
  fetches = 0;

  private constructor(private readonly server: Server) {}

  static async start(keys: readonly object[] = []): Promise<JwksServer> {
    const server = createServer();
    const jwks = new JwksServer(server);
    jwks.keys = keys;
    server.on('request', (_request, response) => {
      jwks.fetches += 1;
      response.writeHead(jwks.status, { 'content-type': 'application/json' });
      response.end(jwks.body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return jwks;
  }

  set keys(keys: readonly object[]) {
    this.body = JSON.stringify({ keys });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/keys?secret=hush`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
