/** Self-signed certificates for tests, made by openssl, as PEM files of a folder. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
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

export const textOf = (path: string): string => readFileSync(path, 'utf8');
