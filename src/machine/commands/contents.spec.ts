/** What an entry holds for partitions, kind by kind: the collector must never miss an append group. */
import { BinaryWriter } from '../../common/binary-writer.js';
import { DEFAULTS, MachineHarness, TENANT } from '../../../test/support/machine-harness.js';
import { TimerScene } from '../../../test/support/timer-scene.js';
import { visitAppendedGroups } from './contents.js';
import {
  encodeEntryHeader,
  encodeStreamCycle,
  encodeTimers,
  encodeTransaction,
  pushSection,
  sectionOf,
  TransactionSection,
} from './index.js';
import { writeTimerOps } from './timers.js';

function contentsOf(...commands: Uint8Array[]): string[] {
  const payload = Buffer.concat([encodeEntryHeader(1, commands.length), ...commands]);
  const found: string[] = [];
  visitAppendedGroups(payload, ({ queue, partition, sizeBytes }) => {
    expect(sizeBytes).toBeGreaterThan(0);
    found.push(`${queue}/${partition}`);
  });
  return found;
}

describe('contents of an entry', () => {
  const scene = new TimerScene();
  const { harness } = scene;
  const due = scene.schedule('now', 0, { queue: 'a' });
  const later = scene.schedule('later', 60, { queue: 'b' });

  it('are the messages of timers that are due at once, not those of pending ones', () => {
    expect(contentsOf(encodeTimers(TENANT, [due, later, scene.cancel('k')]))).toEqual(['a/p']);
    expect(contentsOf(encodeTimers(TENANT, [later]))).toEqual([]);
  });

  it('are the messages of a fire', () => {
    scene.run(later);
    expect(contentsOf(scene.fireBytes(['later']))).toEqual(['b/p']);
  });

  it('are pushes and due timers of a transaction', () => {
    const writer = new BinaryWriter();
    writeTimerOps(writer, [due, later]);
    const bytes = encodeTransaction(TENANT, [
      pushSection(new MachineHarness().pushBytes(['m'], { queue: 'c' })),
      sectionOf(TransactionSection.Timers, writer.toBytes()),
    ]);
    expect(contentsOf(bytes)).toEqual(['c/p', 'a/p']);
  });

  it('are the sink messages of a stream cycle', () => {
    const command = { queryId: harness.mint(), partitionId: 1 as never, ack: null, stateOps: [] };
    const push = harness.pushBytes(['m'], { queue: 'sink', defaults: DEFAULTS });
    expect(contentsOf(encodeStreamCycle(TENANT, command, push))).toEqual(['sink/p']);
  });
});
