/**
 * Certificate and key of the HTTP port: read at boot, where anything wrong is fatal, and again when the
 * files change, where anything wrong keeps the pair in use. Connections that are open keep theirs.
 */
import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';
import { ConfigError, reasonOf, WatchedFiles } from '../config/index.js';
import type { TargetLogger } from '../logging/index.js';

export interface TlsPaths {
  readonly certPath: string;
  readonly keyPath: string;
}

export interface TlsPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export class TlsFiles {
  private constructor(
    private readonly files: WatchedFiles<'cert' | 'key'>,
    private readonly log: TargetLogger,
  ) {}

  /** Throws ConfigError when the files cannot be read or do not belong together. */
  static open({ certPath, keyPath }: TlsPaths, log: TargetLogger): TlsFiles {
    try {
      const files = WatchedFiles.read({ cert: certPath, key: keyPath });
      createSecureContext(files.files);
      return new TlsFiles(files, log);
    } catch (error) {
      throw new ConfigError(
        'QUEEN_TLS_CERT',
        `QUEEN_TLS_CERT and QUEEN_TLS_KEY: ${reasonOf(error)} (${certPath}, ${keyPath})`,
      );
    }
  }

  get pair(): TlsPair {
    return this.files.files;
  }

  watch(server: Pick<Server, 'setSecureContext'>, checkMs?: number): void {
    const { files, log } = this;
    const user = {
      use: (pair: TlsPair): void => {
        server.setSecureContext(pair);
        log.info('TLS certificate read again', {});
      },
      refused: (error: unknown): void => {
        log.error('TLS files changed and cannot be used, the old ones stay', {
          error: reasonOf(error),
        });
      },
    };
    files.watch(user, checkMs);
  }

  close(): void {
    this.files.close();
  }
}
