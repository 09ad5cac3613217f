/**
 * Certificate and key of the HTTP port: read at boot, where anything wrong is fatal, and again when the
 * files change, where anything wrong keeps the pair in use. Connections that are open keep theirs.
 */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';
import { ConfigError } from '../config/index.js';
import type { TargetLogger } from '../logging/index.js';

export interface TlsPaths {
  readonly certPath: string;
  readonly keyPath: string;
}

export interface TlsPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Files are read again so often: what Kubernetes mounts changes behind links no watcher follows. */
const CHECK_MS = 10_000;

export class TlsFiles {
  private timer: NodeJS.Timeout | null = null;
  private refused: TlsPair | null = null;

  private constructor(
    private readonly paths: TlsPaths,
    private current: TlsPair,
    private readonly log: TargetLogger,
  ) {}

  /** Throws ConfigError when the files cannot be read or do not belong together. */
  static open(paths: TlsPaths, log: TargetLogger): TlsFiles {
    try {
      const pair = { cert: readFileSync(paths.certPath), key: readFileSync(paths.keyPath) };
      createSecureContext(pair);
      return new TlsFiles(paths, pair, log);
    } catch (error) {
      throw new ConfigError(
        'QUEEN_TLS_CERT',
        `QUEEN_TLS_CERT and QUEEN_TLS_KEY: ${reasonOf(error)} (${paths.certPath}, ${paths.keyPath})`,
      );
    }
  }

  get pair(): TlsPair {
    return this.current;
  }

  watch(server: Pick<Server, 'setSecureContext'>, checkMs = CHECK_MS): void {
    this.timer = setInterval(() => void this.check(server), checkMs);
    this.timer.unref();
  }

  close(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  private async check(server: Pick<Server, 'setSecureContext'>): Promise<void> {
    let read: TlsPair | null = null;
    try {
      const { certPath, keyPath } = this.paths;
      const [cert, key] = await Promise.all([readFile(certPath), readFile(keyPath)]);
      read = { cert, key };
      if (this.timer === null || isSame(read, this.current) || isSame(read, this.refused)) return;
      server.setSecureContext(read);
      this.current = read;
      this.log.info('TLS certificate read again', {});
    } catch (error) {
      // Half of a pair may be there first: it is tried again until it fits, and told once.
      this.refused = read;
      this.log.error('TLS files changed and cannot be used, the old ones stay', {
        error: reasonOf(error),
      });
    }
  }
}

function isSame(read: TlsPair, known: TlsPair | null): boolean {
  return known !== null && read.cert.equals(known.cert) && read.key.equals(known.key);
}

/** OpenSSL's words name no key bytes. */
function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
