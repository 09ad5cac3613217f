/**
 * What the raft port proves itself with, and whom it believes: certificate, key and authority, read at
 * boot, where anything wrong is fatal, and again when the files change. Streams that stand keep what they
 * were opened with; whatever is opened later uses the new files.
 */
import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { ConfigError, reasonOf, WatchedFiles } from '../config/index.js';
import type { GroupLog } from './group/ports.js';
import type { PeerTls, PeerTlsSource } from './transport/index.js';

export interface PeerTlsPaths {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

export class PeerTlsFiles implements PeerTlsSource {
  private constructor(
    private readonly files: WatchedFiles<'cert' | 'key' | 'ca'>,
    private readonly log: GroupLog,
    private readonly checkMs: number | undefined,
  ) {}

  /** Throws ConfigError when the files cannot be read or do not belong together. */
  static open(paths: PeerTlsPaths, log: GroupLog, checkMs?: number): PeerTlsFiles {
    try {
      const files = WatchedFiles.read({ cert: paths.cert, key: paths.key, ca: paths.ca });
      check(files.files);
      return new PeerTlsFiles(files, log, checkMs);
    } catch (error) {
      const { cert, key, ca } = paths;
      throw new ConfigError(
        'QUEEN_RAFT_TLS_CERT',
        `QUEEN_RAFT_TLS_CERT, QUEEN_RAFT_TLS_KEY and QUEEN_RAFT_TLS_CA: ${reasonOf(error)} (${cert}, ${key}, ${ca})`,
      );
    }
  }

  get current(): PeerTls {
    return this.files.files;
  }

  watch(changed: (tls: PeerTls) => void): () => void {
    const { files, log } = this;
    const user = {
      use: (tls: PeerTls): void => {
        check(tls);
        changed(tls);
        log.info('raft: TLS files read again', {});
      },
      refused: (error: unknown): void => {
        log.error('raft: TLS files changed and cannot be used, the old ones stay', {
          error: reasonOf(error),
        });
      },
    };
    files.watch(user, this.checkMs);
    return () => files.close();
  }
}

/** A file of authorities without one would believe nobody, and OpenSSL takes it without a word. */
function check(tls: PeerTls): void {
  createSecureContext({ ...tls });
  new X509Certificate(tls.ca);
}
