/**
 * Bodies of Claim and Unclaim. Offsets may be −1 (`nothing yet`), so they are signed varints (zigzag).
 *
 *   Claim:   varint skewMicros | varint grants | grant*
 *   grant:   u48 session | u48 sequence | 16B leaseId | varint leaseMicros | u8 commitOnDelivery
 *            | varint ranges | range*
 *   range:   u32 queueId | u48 partitionId | u32 groupId | u32 cursorVersion | svarint seedCommitted
 *            | varint firstOffset | varint lastOffset | u8 conflated
 *   Unclaim: 16B leaseId | varint ranges | { u48 partitionId | u32 groupId | u32 cursorVersion
 *            | svarint restoreCommitted }*
 */
import type { BinaryReader } from '../../common/binary-reader.js';
import type { BinaryWriter } from '../../common/binary-writer.js';
import { consumerGroupId, offset, partitionId, queueId } from '../../common/ids.js';
import { CommandKind } from './catalogue.js';
import type { ClaimCommand, ClaimGrant, ClaimRange, UnclaimCommand } from './catalogue.js';
import { readCount, readId, writeId } from './fields.js';
import { beginCommand, finishCommand } from './header.js';
import { NO_TENANT } from './session.js';

const GRANT_LEAST_BYTES = 31;
const RANGE_LEAST_BYTES = 22;
const UNCLAIM_LEAST_BYTES = 15;

/** Claims span tenants (ids are replicated numbers), so they carry the zero tenant. */
export function encodeClaim(command: ClaimCommand): Uint8Array {
  const writer = beginCommand(CommandKind.Claim, NO_TENANT);
  writer.varint(command.skewMicros);
  writer.varint(command.grants.length);
  for (const grant of command.grants) writeGrant(writer, grant);
  return finishCommand(writer);
}

export function decodeClaim(reader: BinaryReader): ClaimCommand {
  const skewMicros = reader.varint();
  const count = readCount(reader, GRANT_LEAST_BYTES);
  const grants: ClaimGrant[] = [];
  for (let i = 0; i < count; i++) grants.push(readGrant(reader));
  reader.expectEnd();
  return { skewMicros, grants };
}

function writeGrant(writer: BinaryWriter, grant: ClaimGrant): void {
  writer.u48(grant.ticket.session);
  writer.u48(grant.ticket.sequence);
  writeId(writer, grant.leaseId);
  writer.varint(grant.leaseMicros);
  writer.boolean(grant.commitOnDelivery);
  writer.varint(grant.ranges.length);
  for (const range of grant.ranges) {
    writer.u32(range.queueId);
    writer.u48(range.partitionId);
    writer.u32(range.groupId);
    writer.u32(range.cursorVersion);
    writer.signedVarint(range.seedCommitted);
    writer.varint(range.firstOffset);
    writer.varint(range.lastOffset);
    writer.boolean(range.conflated);
  }
}

function readGrant(reader: BinaryReader): ClaimGrant {
  const session = reader.u48();
  const sequence = reader.u48();
  const leaseId = readId(reader);
  const leaseMicros = reader.varint();
  const commitOnDelivery = reader.boolean();
  const count = readCount(reader, RANGE_LEAST_BYTES);
  const ranges: ClaimRange[] = [];
  for (let i = 0; i < count; i++) ranges.push(readRange(reader));
  return { ticket: { session, sequence }, leaseId, leaseMicros, commitOnDelivery, ranges };
}

function readRange(reader: BinaryReader): ClaimRange {
  return {
    queueId: queueId(reader.u32()),
    partitionId: partitionId(reader.u48()),
    groupId: consumerGroupId(reader.u32()),
    cursorVersion: reader.u32(),
    seedCommitted: reader.signedVarint(),
    firstOffset: offset(reader.varint()),
    lastOffset: offset(reader.varint()),
    conflated: reader.boolean(),
  };
}

export function encodeUnclaim(command: UnclaimCommand): Uint8Array {
  const writer = beginCommand(CommandKind.Unclaim, NO_TENANT);
  writeId(writer, command.leaseId);
  writer.varint(command.ranges.length);
  for (const range of command.ranges) {
    writer.u48(range.partitionId);
    writer.u32(range.groupId);
    writer.u32(range.cursorVersion);
    writer.signedVarint(range.restoreCommitted);
  }
  return finishCommand(writer);
}

export function decodeUnclaim(reader: BinaryReader): UnclaimCommand {
  const leaseId = readId(reader);
  const count = readCount(reader, UNCLAIM_LEAST_BYTES);
  const ranges: UnclaimCommand['ranges'][number][] = [];
  for (let i = 0; i < count; i++) {
    ranges.push({
      partitionId: partitionId(reader.u48()),
      groupId: consumerGroupId(reader.u32()),
      cursorVersion: reader.u32(),
      restoreCommitted: reader.signedVarint(),
    });
  }
  reader.expectEnd();
  return { leaseId, ranges };
}
