/** Codecs of the retention commands: round trips, the check before the log, unknown rules. */
import fc from 'fast-check';
import { BinaryReader } from '../../common/binary-reader.js';
import { consumerGroupId, micros, partitionId, queueId } from '../../common/ids.js';
import { COMMAND_HEADER, CommandKind } from './catalogue.js';
import { checkCommand } from './check.js';
import * as retention from './retention.js';

const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const uint48 = fc.maxSafeNat().map((n) => n % 2 ** 48);
const position = fc.integer({ min: 0, max: 2 ** 50 });

const trim = fc.record({
  queueId: uint32.map(queueId),
  partitionId: uint48.map(partitionId),
  optionsVersion: uint32,
  rule: fc.constantFrom(
    retention.TrimRule.Age,
    retention.TrimRule.Completed,
    retention.TrimRule.MaxWait,
  ),
  logStart: position,
  next: position,
  removedBytes: position,
  unheldBelow: position,
});
const drop = fc.record({
  queueId: uint32.map(queueId),
  partitionId: uint48.map(partitionId),
  lastOffset: fc.integer({ min: -1, max: 2 ** 50 }),
});
const seal = fc.record({
  partitionId: uint48.map(partitionId),
  groupId: uint32.map(consumerGroupId),
  cursorVersion: uint32,
});

const bodyOf = (command: Uint8Array): BinaryReader =>
  new BinaryReader(command, COMMAND_HEADER.body, command.length);

describe('retention commands', () => {
  it('TrimPartitions comes back as it went in', () => {
    fc.assert(
      fc.property(fc.record({ trims: fc.array(trim) }), (command) => {
        const bytes = retention.encodeTrimPartitions(command);
        expect(checkCommand(bytes).kind).toBe(CommandKind.TrimPartitions);
        expect(retention.decodeTrimPartitions(bodyOf(bytes))).toEqual(command);
      }),
    );
  });

  it('DropPartitions comes back as it went in', () => {
    const commands = fc.record({ idleSince: fc.maxSafeNat().map(micros), drops: fc.array(drop) });
    fc.assert(
      fc.property(commands, (command) => {
        const bytes = retention.encodeDropPartitions(command);
        expect(checkCommand(bytes).kind).toBe(CommandKind.DropPartitions);
        expect(retention.decodeDropPartitions(bodyOf(bytes))).toEqual(command);
      }),
    );
  });

  it('SealCursors comes back as it went in', () => {
    fc.assert(
      fc.property(fc.record({ seals: fc.array(seal) }), (command) => {
        const bytes = retention.encodeSealCursors(command);
        expect(checkCommand(bytes).kind).toBe(CommandKind.SealCursors);
        expect(retention.decodeSealCursors(bodyOf(bytes))).toEqual(command);
      }),
    );
  });

  it('refuses an unknown rule and a count beyond its bytes', () => {
    const [one] = fc.sample(trim, { numRuns: 1, seed: 1 });
    const bytes = retention.encodeTrimPartitions({ trims: [one!] });
    // varint count, queue, partition, options version, then the rule.
    bytes[COMMAND_HEADER.body + 1 + 4 + 6 + 4] = 3;
    expect(() => checkCommand(bytes)).toThrow('unknown retention rule');
    bytes[COMMAND_HEADER.body] = 100;
    expect(() => checkCommand(bytes)).toThrow('count exceeds its bytes');
  });
});
