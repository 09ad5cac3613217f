/** Every format says its version; a newer one is refused naming both, a foreign one naming whose. */
import { crc32 } from 'node:zlib';
import { nodeId } from '../../../src/common/ids.js';
import { openIdentity, Wal, WalDamageError } from '../../../src/raft/wal/index.js';
import type { FilePort, OpenFile, OpenMode } from '../../../src/raft/wal/file-port.js';
import {
  readManifest,
  segmentFileName,
  writeManifest,
  type Manifest,
  type SegmentRow,
} from '../../../src/raft/wal/manifest.js';
import { SegmentReaders, type Reader } from '../../../src/raft/wal/segment-readers.js';
import { FaultyFilePort } from '../../support/faulty-file-port.js';
import { DATA, LOG, makeSampleLog, openLog, type SampleLog } from './sample-log.js';

function newerDocument(bytes: Buffer): Buffer {
  const text = bytes.toString();
  const end = text.indexOf('\n');
  const [name, , , size] = text.slice(0, end).split(' ');
  const seed = crc32(Buffer.from(`${name} 2`));
  const checksum = crc32(Buffer.from(text.slice(end + 1)), seed);
  const header = `${name} 2 ${checksum.toString(16).padStart(8, '0')} ${size}`;
  return Buffer.from(header + text.slice(end));
}

function newerHeader(bytes: Buffer): Buffer {
  bytes.writeUInt32LE(2, 8);
  const size = bytes.readUInt32LE(12);
  bytes.writeUInt32LE(crc32(bytes.subarray(20, size), crc32(bytes.subarray(0, 16))), 16);
  return bytes;
}

function newerMark(bytes: Buffer): Buffer {
  bytes.writeUInt32LE(2, 4);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 36)), 36);
  return bytes;
}

function newerFooter(bytes: Buffer): Buffer {
  const trailer = bytes.subarray(bytes.length - 128);
  trailer.writeUInt32LE(2, 0);
  trailer.writeUInt32LE(crc32(trailer.subarray(0, 124)), 124);
  return bytes;
}

describe('formats of the write-ahead log', () => {
  let sample: SampleLog;
  let port: FaultyFilePort;
  let segments: string[];

  beforeAll(async () => {
    sample = await makeSampleLog();
  });

  beforeEach(() => {
    port = sample.port.clone(() => 0);
    segments = port.paths().filter((path) => path.endsWith('.seg'));
  });

  it.each<[string, () => string, (bytes: Buffer) => Buffer]>([
    ['manifest', () => `${LOG}/manifest`, newerDocument],
    ['identity', () => `${DATA}/identity`, newerDocument],
    ['synced mark', () => `${LOG}/synced`, newerMark],
    ['header of the active segment', () => segments.at(-1) as string, newerHeader],
    ['header of a retired segment', () => segments[0] as string, newerHeader],
    ['footer', () => segments[0] as string, newerFooter],
  ])('a newer %s is refused naming both versions', async (_name, path, change) => {
    port.plant(path(), change(port.peek(path())));
    const error = await openLog(port).then(
      () => undefined,
      (e: unknown) => e as WalDamageError,
    );
    expect(error).toBeInstanceOf(WalDamageError);
    expect(error?.file).toBe(path());
    expect(error?.message).toMatch(/version 2 is newer than version 1/);
  });

  it.each([
    ['another cluster', { clusterId: 'other', nodeId: nodeId(2) }, 'belongs to cluster "cluster"'],
    ['another node', { clusterId: 'cluster', nodeId: nodeId(3) }, 'belongs to node 2'],
  ])('a directory of %s is refused', async (_name, expected, text) => {
    await expect(openIdentity({ files: port, directory: DATA, expected })).rejects.toThrow(text);
  });

  it('a log of another directory is refused', async () => {
    const identity = {
      clusterId: 'cluster',
      nodeId: nodeId(2),
      directoryId: 'ffffffffffffffff'.repeat(2),
    };
    const open = Wal.open({ files: port, directory: LOG, identity });
    await expect(open).rejects.toThrow('belongs to data directory');
  });

  it('a missing log is refused once the directory was ready, and so is an older manifest', async () => {
    const manifest = port.peek(`${LOG}/manifest`);
    const wal = await openLog(port);
    await wal.roll();
    const next = wal.lastIndex + 1;
    const entry = { index: next as never, term: wal.lastTerm, kind: 'empty' as const, parts: [] };
    await wal.append({ entries: [entry] });
    await wal.close();
    port.plant(`${LOG}/manifest`, manifest);
    await expect(openLog(port)).rejects.toThrow('holds records but is not listed');
    for (const path of port.paths()) if (path.startsWith(LOG)) port.plant(path, undefined);
    await expect(openLog(port)).rejects.toThrow('the manifest is missing');
  });

  it.each<[string, (rows: SegmentRow[]) => SegmentRow[], string]>([
    ['loses a live segment', (rows) => rows.filter((r) => r !== live(rows)), 'not listed'],
    ['shortens a segment', (rows) => change(rows, { last: live(rows).last - 1 }), 'begins after'],
    ['stretches a segment', (rows) => change(rows, { last: live(rows).last + 1 }), 'begins after'],
    ['names another footer', (rows) => change(rows, { checksum: 1 }), 'contradicts'],
    ['names another size', (rows) => change(rows, { sizeBytes: 1 }), 'instead of 1'],
    ['skips a number', (rows) => change(rows, { sequence: 99 }), 'not ascending'],
  ])('a manifest that %s is refused', async (_name, alter, text) => {
    const manifest = (await readManifest(port, LOG)) as Manifest;
    await writeManifest(port, LOG, { ...manifest, segments: alter([...manifest.segments]) });
    await expect(openLog(port)).rejects.toThrow(text);
  });

  it('a lost segment is refused even when nothing mentions it any more', async () => {
    const manifest = (await readManifest(port, LOG)) as Manifest;
    const kept = live([...manifest.segments]);
    const lost = manifest.segments[manifest.segments.indexOf(kept) + 1] as SegmentRow;
    const rows = manifest.segments.filter((row) => row !== lost);
    await writeManifest(port, LOG, { ...manifest, segments: rows });
    port.plant(`${LOG}/${segmentFileName(lost.sequence, 0)}`, undefined);
    await expect(openLog(port)).rejects.toThrow('a segment is missing');
  });

  it('bytes behind a footer are refused', async () => {
    const path = segments[1] as string;
    port.plant(path, Buffer.concat([port.peek(path), Buffer.alloc(1)]));
    await expect(openLog(port)).rejects.toThrow(path);
  });

  it('the same segment of another directory is refused', async () => {
    const other = new FaultyFilePort(() => 0);
    await other.mkdir(DATA);
    const identity = {
      clusterId: 'cluster',
      nodeId: nodeId(2),
      directoryId: 'ffffffffffffffff'.repeat(2),
    };
    const wal = await Wal.open({ files: other, directory: LOG, identity, create: {} });
    await wal.close();
    const path = segments[0] as string;
    port.plant(path, other.peek(path));
    await expect(openLog(port)).rejects.toThrow('belongs to data directory');
  });

  it('keeps a bounded number of files open, but none in use is closed', async () => {
    const counting = new CountingPort(port);
    const readers = new SegmentReaders(counting.as(), { maxFiles: 2, maxTableBytes: 1e6 });
    const manifest = (await readManifest(port, LOG)) as Manifest;
    const closed = manifest.segments.filter((row) => row.state !== 'active');
    const readables = closed.map((row) => {
      const path = `${LOG}/${segmentFileName(row.sequence, row.revision)}`;
      return { path, salt: port.peek(path).readUInt32LE(20), sizeBytes: row.sizeBytes };
    });
    const byte = Buffer.alloc(1);
    const read = (reader: Reader): Promise<number> => reader.file.pread(byte, 0);
    for (const readable of [...readables, ...readables]) {
      expect(await readers.use(readable, read)).toBe(1);
      expect(counting.open).toBeLessThanOrEqual(2);
    }
    const results = await Promise.all(readables.map((readable) => readers.use(readable, read)));
    expect(results).toEqual(readables.map(() => 1));
    expect(counting.open).toBeLessThanOrEqual(2);
    await readers.close();
    expect(counting.open).toBe(0);
  });
});

/** The first sealed segment that holds entries. */
function live(rows: SegmentRow[]): SegmentRow {
  return rows.find((row) => row.state === 'sealed' && row.last >= row.first) as SegmentRow;
}

function change(rows: SegmentRow[], to: Partial<SegmentRow>): SegmentRow[] {
  const row = live(rows);
  return rows.map((other) => (other === row ? { ...row, ...to } : other));
}

/** Counts open files; a read of a closed one fails. */
class CountingPort {
  open = 0;

  constructor(private readonly port: FaultyFilePort) {}

  as(): FilePort {
    return { ...methodsOf(this.port), open: (path, mode) => this.openCounted(path, mode) };
  }

  private async openCounted(path: string, mode: OpenMode): Promise<OpenFile> {
    const file = await this.port.open(path, mode);
    let closed = false;
    this.open += 1;
    const pread = file.pread.bind(file);
    file.pread = async (target, position) => {
      const bytes = await pread(target, position);
      if (closed) throw new Error('read from a closed file');
      return bytes;
    };
    file.close = () => {
      closed = true;
      this.open -= 1;
      return Promise.resolve();
    };
    return file;
  }
}

function methodsOf(port: FaultyFilePort): FilePort {
  return {
    open: (path, mode) => port.open(path, mode),
    readdir: (directory) => port.readdir(directory),
    mkdir: (directory) => port.mkdir(directory),
    rename: (from, to) => port.rename(from, to),
    unlink: (path) => port.unlink(path),
    link: (existing, created) => port.link(existing, created),
    fsyncDir: (directory) => port.fsyncDir(directory),
  };
}
