/**
 * A closed log with something of everything (retired, sealed, emptied and active segments, hard
 * states, a truncation across segments), and the check that an opened copy serves all of it.
 */
import { logIndex, nodeId, term } from '../../../src/common/ids.js';
import { Prng } from '../../../src/common/prng.js';
import {
  markDirectoryReady,
  openIdentity,
  Wal,
  WalDamageError,
  type HardState,
} from '../../../src/raft/wal/index.js';
import { FaultyFilePort } from '../../support/faulty-file-port.js';

export const DATA = '/data';
export const LOG = `${DATA}/wal`;
const SEGMENT_BYTES = 6000;
const FIRST_ROUND = 60;
const TRUNCATE_TO = 41;
const LAST = 75;

export interface SampleLog {
  readonly port: FaultyFilePort;
  readonly payloads: ReadonlyMap<number, Buffer>;
  readonly hardState: HardState;
  readonly baseIndex: number;
  readonly lastIndex: number;
}

export async function openLog(port: FaultyFilePort): Promise<Wal> {
  const { identity, ready } = await openIdentity({
    files: port,
    directory: DATA,
    expected: { clusterId: 'cluster', nodeId: nodeId(2) },
    mintDirectoryId: () => Buffer.alloc(16, port.paths().length + 1),
  });
  const wal = await Wal.open({
    files: port,
    directory: LOG,
    identity,
    segmentBytes: SEGMENT_BYTES,
    ...(ready ? {} : { create: { configuration: Buffer.from('members') } }),
  });
  if (!ready) await markDirectoryReady(port, DATA, identity);
  return wal;
}

export async function makeSampleLog(): Promise<SampleLog> {
  const random = new Prng(77);
  const port = new FaultyFilePort(() => random.nextFloat());
  await port.mkdir(DATA);
  await port.fsyncDir('/');
  const wal = await openLog(port);
  const payloads = new Map<number, Buffer>();
  const append = async (index: number, entryTerm: number): Promise<void> => {
    const payload = Buffer.alloc(100 + random.nextBelow(700));
    random.fill(payload);
    payloads.set(index, payload);
    const entry = { index: logIndex(index), term: term(entryTerm), parts: [payload] };
    await wal.append({ entries: [{ ...entry, kind: 'normal' }] });
  };
  for (let i = 1; i <= FIRST_ROUND; i += 1) await append(i, 1);
  const hardState = { term: term(2), vote: nodeId(3), commit: logIndex(TRUNCATE_TO) };
  await wal.append({ entries: [], hardState });
  for (let i = TRUNCATE_TO + 1; i <= LAST; i += 1) await append(i, 2);
  await wal.releaseTo(logIndex(TRUNCATE_TO - 5));
  await wal.append({ entries: [], hardState: { ...hardState, commit: logIndex(LAST) } });
  const sample: SampleLog = {
    port,
    payloads,
    hardState: wal.hardState,
    baseIndex: wal.base.index,
    lastIndex: wal.lastIndex,
  };
  await wal.close();
  return sample;
}

/**
 * Serves everything or throws WalDamageError; anything in between is a silent loss and throws a
 * plain Error. Resolves to the number of damaged segments the scrub found.
 */
export async function checkServes(wal: Wal, sample: SampleLog): Promise<number> {
  if (wal.lastIndex !== sample.lastIndex) throw new Error(`serves up to ${wal.lastIndex} only`);
  if (wal.base.index !== sample.baseIndex) throw new Error(`begins at ${wal.base.index}`);
  if (JSON.stringify(wal.hardState) !== JSON.stringify(sample.hardState)) {
    throw new Error(`hard state ${JSON.stringify(wal.hardState)}`);
  }
  let damagedReads = 0;
  for (const [index, payload] of sample.payloads) {
    try {
      const entry = await wal.readEntry(logIndex(index));
      if (!entry.payload.equals(payload)) throw new Error(`entry ${index} differs`);
    } catch (error) {
      if (!(error instanceof WalDamageError)) throw error;
      damagedReads += 1;
    }
  }
  const report = await wal.scrub({
    bytesPerSecond: 1e9,
    sleep: () => Promise.resolve(),
    onDamage: () => undefined,
  });
  if (damagedReads > 0 && report.damaged === 0) throw new Error('the scrub missed a damaged entry');
  return report.damaged;
}
