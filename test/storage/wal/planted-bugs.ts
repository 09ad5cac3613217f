/** File ports with one promise broken each; a fault suite that accepts them is worth nothing. */
import type { FilePort, OpenFile, OpenMode } from '../../../src/raft/wal/file-port.js';
import type { FaultyFilePort } from '../../support/faulty-file-port.js';

function wrapFile(file: OpenFile, fdatasync: () => Promise<void>): OpenFile {
  return {
    pread: (target, position) => file.pread(target, position),
    writev: (parts, position) => file.writev(parts, position),
    writeSync: (bytes, position) => file.writeSync(bytes, position),
    truncate: (sizeBytes) => file.truncate(sizeBytes),
    sizeBytes: () => file.sizeBytes(),
    close: () => file.close(),
    fdatasync,
  };
}

function wrapPort(
  port: FaultyFilePort,
  change: { fdatasync?: (file: OpenFile) => () => Promise<void>; fsyncDir?: () => Promise<void> },
): FilePort {
  return {
    open: async (path: string, mode: OpenMode) => {
      const file = await port.open(path, mode);
      return change.fdatasync ? wrapFile(file, change.fdatasync(file)) : file;
    },
    readdir: (directory) => port.readdir(directory),
    mkdir: (directory) => port.mkdir(directory),
    rename: (from, to) => port.rename(from, to),
    unlink: (path) => port.unlink(path),
    link: (existing, created) => port.link(existing, created),
    fsyncDir: change.fsyncDir ?? ((directory) => port.fsyncDir(directory)),
  };
}

const nothing = (): Promise<void> => Promise.resolve();

/** fdatasync does nothing. */
export const withoutFdatasync = (port: FaultyFilePort): FilePort =>
  wrapPort(port, { fdatasync: () => nothing });

/** fsync of directories does nothing. */
export const withoutFsyncDir = (port: FaultyFilePort): FilePort =>
  wrapPort(port, { fsyncDir: nothing });

/** fdatasync says done before it is: the sync happens one call later, so appends answer early. */
export const withEarlyAnswer = (port: FaultyFilePort): FilePort =>
  wrapPort(port, {
    fdatasync: (file) => {
      let owed = false;
      return async () => {
        if (owed) await file.fdatasync();
        owed = true;
      };
    },
  });
