/** A failing disk poisons the log for good; what was acknowledged before is there after a restart. */
import { logIndex, term } from '../../../src/common/ids.js';
import { Prng } from '../../../src/common/prng.js';
import { WalPoisonedError, type Wal, type WalBatch } from '../../../src/raft/wal/index.js';
import { FaultyFilePort, type FaultOperation } from '../../support/faulty-file-port.js';
import { DATA, openLog } from './sample-log.js';

const SEEDS = 40;

function batch(index: number, sizeBytes = 700): WalBatch {
  const parts = [Buffer.alloc(sizeBytes, index)];
  return { entries: [{ index: logIndex(index), term: term(1), kind: 'normal', parts }] };
}

/** Appends until the log fails; the last acknowledged index. */
async function appendUntilFailure(wal: Wal): Promise<number> {
  for (let index = wal.lastIndex + 1; index < 200; index += 1) {
    try {
      await wal.append(batch(index));
    } catch (error) {
      expect(error).toBeInstanceOf(WalPoisonedError);
      return index - 1;
    }
  }
  throw new Error('the disk never failed');
}

describe('write-ahead log on a failing disk', () => {
  let random: Prng;
  let port: FaultyFilePort;

  async function start(seed: number): Promise<Wal> {
    random = new Prng(seed);
    port = new FaultyFilePort(() => random.nextFloat());
    await port.mkdir(DATA);
    await port.fsyncDir('/');
    return openLog(port);
  }

  it.each<[string, FaultOperation, 'EIO' | 'ENOSPC']>([
    ['a failed write', 'writev', 'EIO'],
    ['no space', 'writev', 'ENOSPC'],
    ['a failed sync', 'fdatasync', 'EIO'],
    ['a failed synced mark', 'writeSync', 'EIO'],
    ['a failed rename of the manifest', 'rename', 'EIO'],
    ['a failed sync of the directory', 'fsyncDir', 'EIO'],
    ['a segment that cannot be created', 'open', 'ENOSPC'],
  ])('%s poisons it and loses nothing', async (_name, operation, code) => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const wal = await start(seed);
      port.failAfter(operation, 1 + random.nextBelow(8), code);
      const acked = await appendUntilFailure(wal);
      await expect(wal.append(batch(acked + 1))).rejects.toBeInstanceOf(WalPoisonedError);
      await expect(wal.roll()).rejects.toBeInstanceOf(WalPoisonedError);
      expect(wal.lastIndex).toBe(acked);
      await wal.close();
      port.kill();
      // The page cache may still show what never reached the disk: once served it must stay.
      const restarted = await openLog(port);
      const shown = restarted.lastIndex;
      expect(shown).toBeGreaterThanOrEqual(acked);
      expect(shown).toBeLessThanOrEqual(acked + 1);
      port.powerLoss();
      const again = await openLog(port);
      expect(again.lastIndex).toBe(shown);
      for (let index = 1; index <= shown; index += 1) {
        const { payload } = await again.readEntry(logIndex(index));
        expect(payload.equals(Buffer.alloc(700, index))).toBe(true);
      }
    }
  });

  it('rejects everything waiting when a write fails, and writes nothing more', async () => {
    const wal = await start(5);
    await wal.append(batch(1));
    port.failAfter('fdatasync', 1, 'EIO');
    const waiting = [2, 3, 4].map((index) => wal.append(batch(index)));
    const settled = await Promise.allSettled(waiting);
    expect(settled.map((s) => s.status)).toEqual(['rejected', 'rejected', 'rejected']);
    const { operations } = port;
    await expect(wal.append(batch(2))).rejects.toBeInstanceOf(WalPoisonedError);
    expect(port.operations).toBe(operations);
    expect(wal.poisoned).toBeInstanceOf(WalPoisonedError);
  });

  it('goes on after short writes', async () => {
    const wal = await start(6);
    port.shortWriteRate = 1;
    for (let index = 1; index <= 20; index += 1) await wal.append(batch(index));
    await wal.close();
    const again = await openLog(port);
    const entries = await again.readEntries(logIndex(1), 1e9);
    expect(entries.map((e) => e.payload[0])).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
  });

  it('fails when the disk fills up in the middle of a write', async () => {
    const wal = await start(7);
    await wal.append(batch(1));
    port.spaceBytes = 300;
    await expect(wal.append(batch(2))).rejects.toThrow('ENOSPC');
    port.kill();
    port.spaceBytes = Number.POSITIVE_INFINITY;
    const again = await openLog(port);
    expect(again.lastIndex).toBe(1);
    await again.append(batch(2));
  });
});
