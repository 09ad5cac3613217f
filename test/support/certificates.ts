/** Self-signed certificates for tests, made by openssl, as PEM files of a folder. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface CertificateFolder {
  readonly cert: string;
  readonly key: string;
  /** Writes a new pair over the old one. */
  renew(commonName: string): void;
  remove(): void;
}

export function certificateFolder(commonName = 'localhost'): CertificateFolder {
  const folder = mkdtempSync(join(tmpdir(), 'queen-https-'));
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const renew = (name: string): void => {
    const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
    const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    const days = ['-days', '2'];
    execFileSync('openssl', [...made, ...subject, ...days, '-keyout', key, '-out', cert], {
      stdio: 'ignore',
    });
  };
  renew(commonName);
  return { cert, key, renew, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];

/** PEM texts of a certificate and its key. */
export interface SignedPair {
  readonly cert: string;
  readonly key: string;
}

/** An authority of its own that signs certificates; nothing of it stays on the disk. */
export class TestAuthority {
  readonly cert: string;
  private readonly key: string;

  constructor(private readonly name = 'authority') {
    ({ cert: this.cert, key: this.key } = inFolder((file) => {
      openssl(['req', '-x509', ...KEY, '-subj', `/CN=${name}`], file);
      return { cert: textOf(file('cert')), key: textOf(file('key')) };
    }));
  }

  sign(commonName: string): SignedPair {
    return inFolder((file) => {
      writeFileSync(file('ca-cert'), this.cert);
      writeFileSync(file('ca-key'), this.key);
      const subject = ['-subj', `/O=${this.name}/CN=${commonName}`];
      const asked = KEY.filter((word) => word !== '-days' && word !== '2');
      const request = ['-keyout', file('key'), '-out', file('request')];
      run(['req', '-new', ...asked, ...subject, ...request]);
      const by = ['-CA', file('ca-cert'), '-CAkey', file('ca-key'), '-CAcreateserial'];
      const signed = ['-in', file('request'), '-out', file('cert'), '-days', '2'];
      run(['x509', '-req', ...by, ...signed]);
      return { cert: textOf(file('cert')), key: textOf(file('key')) };
    });
  }
}

function inFolder<T>(act: (file: (name: string) => string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'queen-ca-'));
  try {
    return act((name) => join(folder, `${name}.pem`));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function openssl(args: readonly string[], file: (name: string) => string): void {
  run([...args, '-keyout', file('key'), '-out', file('cert')]);
}

function run(args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: 'ignore' });
}

export const textOf = (path: string): string => readFileSync(path, 'utf8');
