/** What the collector is shown of retired segments: commands, and nothing of the consensus' own entries. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { logIndex, nodeId, term } from '../common/ids.js';
import { WalLog } from './wal-port.js';
import { NodeFilePort, Wal } from './wal/index.js';

const identity = { clusterId: 'c1', nodeId: nodeId(1), directoryId: '0123456789abcdef'.repeat(2) };
const KINDS = ['membership', 'empty', 'normal'] as const;
const breathe = (): Promise<void> => Promise.resolve();

describe('retired segments of a cluster node', () => {
  let root: string;
  let wal: Wal;

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), 'queen-wal-port-'));
    const directory = join(root, 'wal');
    const files = new NodeFilePort();
    wal = await Wal.open({ files, directory, identity, create: {}, segmentBytes: 4096 });
    for (let i = 1; i <= 30; i += 1) {
      const parts = [Buffer.from(`${i}`.padEnd(300, '.'))];
      const kind = KINDS[i % 3]!;
      await wal.append({ entries: [{ index: logIndex(i), term: term(1), kind, parts }] });
    }
    wal.setCommit(logIndex(30));
    await wal.releaseTo(logIndex(30));
  });

  afterEach(async () => {
    await wal.close();
    rmSync(root, { recursive: true, force: true });
  });

  const seen = async (retired: WalLog['retired'], sequence: number): Promise<number[]> => {
    const indexes: number[] = [];
    await retired.read(sequence, { visit: (index) => indexes.push(index), breathe });
    return indexes;
  };

  it('only commands are visited', async () => {
    const { retired } = new WalLog(wal);
    const [segment] = retired.segments();
    const indexes = await seen(retired, segment!.sequence);
    expect(indexes.length).toBeGreaterThan(1);
    expect(indexes.every((index) => index % 3 === 2)).toBe(true);
  });

  it('a rewrite is asked about commands alone and keeps those wanted', async () => {
    const { retired } = new WalLog(wal);
    const { sequence } = retired.segments()[0]!;
    const before = await seen(retired, sequence);
    const asked: number[] = [];
    const keep = (index: number): boolean => {
      asked.push(index);
      return index !== before[0];
    };
    const settled = (): Promise<boolean> => Promise.resolve(true);
    await retired.rewrite(sequence, { keep, settled, breathe });
    expect(asked).toEqual(before);
    expect(await seen(retired, sequence)).toEqual(before.slice(1));
  });
});
