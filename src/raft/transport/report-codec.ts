/**
 * Small reports between members: the leader's view and digests.
 *
 *   view:   u8 version = 1 | u64 term | u32 leader | u64 commit | f64 quorumAckMs | u16 count |
 *           count x (u32 id | u8 flags (1 voter, 2 has lastAckMs, 4 has matched) |
 *                    f64 lastAckMs, if any | u64 matched, if any)
 *   digest: u8 version = 1 | u64 index | u8 size | digest
 */
import { BinaryReader, DecodeError } from '../../common/binary-reader.js';
import type { BinaryWriter } from '../../common/binary-writer.js';
import { logIndex, nodeId, term } from '../../common/ids.js';
import { invariant } from '../../common/invariant.js';
import type { DigestReport, LeaderView, MemberView } from '../group/cluster/peer-port.js';

const VERSION = 1;
const MAX_MEMBERS = 0xffff;
const VOTER = 1;
const HAS_ACK = 2;
const HAS_MATCHED = 4;

export function writeView(out: BinaryWriter, view: LeaderView): void {
  invariant(view.members.length <= MAX_MEMBERS, 'too many members for a view');
  out.u8(VERSION);
  out.u64(view.term);
  out.u32(view.leader);
  out.u64(view.commit);
  out.f64(view.quorumAckMs);
  out.u16(view.members.length);
  for (const member of view.members) writeMember(out, member);
}

function writeMember(out: BinaryWriter, { id, voter, lastAckMs, matched }: MemberView): void {
  out.u32(id);
  const known = (lastAckMs === null ? 0 : HAS_ACK) | (matched === null ? 0 : HAS_MATCHED);
  out.u8((voter ? VOTER : 0) | known);
  if (lastAckMs !== null) out.f64(lastAckMs);
  if (matched !== null) out.u64(matched);
}

export function readView(body: Uint8Array): LeaderView {
  const reader = new BinaryReader(body);
  reader.version(VERSION, 'a view');
  const head = {
    term: term(reader.u64()),
    leader: nodeId(reader.u32()),
    commit: logIndex(reader.u64()),
    quorumAckMs: ageMs(reader),
  };
  const members: MemberView[] = [];
  for (let left = reader.u16(); left > 0; left--) members.push(readMember(reader));
  reader.expectEnd();
  return { ...head, members };
}

function readMember(reader: BinaryReader): MemberView {
  const id = nodeId(reader.u32());
  const flags = reader.u8();
  if (flags > 7) throw new DecodeError('unknown flags', reader.position - 1);
  return {
    id,
    voter: (flags & VOTER) !== 0,
    lastAckMs: (flags & HAS_ACK) === 0 ? null : ageMs(reader),
    matched: (flags & HAS_MATCHED) === 0 ? null : logIndex(reader.u64()),
  };
}

/** Infinity is a legal age: never acknowledged. */
function ageMs(reader: BinaryReader): number {
  const value = reader.f64();
  if (Number.isNaN(value)) throw new DecodeError('an age is not a number', reader.position - 8);
  return value;
}

export function writeDigest(out: BinaryWriter, { index, digest }: DigestReport): void {
  out.u8(VERSION);
  out.u64(index);
  out.u8(digest.length);
  out.raw(digest);
}

export function readDigest(body: Uint8Array): DigestReport {
  const reader = new BinaryReader(body);
  reader.version(VERSION, 'a digest');
  const index = logIndex(reader.u64());
  const digest = reader.raw(reader.u8());
  reader.expectEnd();
  return { index, digest };
}
