/**
 * Which messages an entry may hold for partitions: what its append groups name. Whoever collects log
 * segments asks here; bytes that rows name by themselves (dead letters, timers) are found through those
 * rows and need no word here. The table is exhaustive: a new kind that pushes must say how.
 */
import { BinaryReader } from '../../common/binary-reader.js';
import { COMMAND_HEADER, CommandKind } from './catalogue.js';
import { TransactionSection } from './catalogue-transactions.js';
import { decodeReplayDeadLetter } from './dead-letters.js';
import { EntryReader } from './entry.js';
import { TENANT_BYTES } from './header.js';
import { PushBodyView } from './push-view.js';
import { decodeStreamCycle } from './streams.js';
import { decodeFireTimers, decodeTimers } from './timers.js';
import { readSections } from './transaction.js';

/** Range of bytes. */
interface Body {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** From the body of a command to the push bodies in it; null: the kind never appends. */
type FindPushBodies = ((body: Body) => readonly Body[]) | null;

const PUSH_BODIES: Readonly<Record<CommandKind, FindPushBodies>> = {
  [CommandKind.OpenSession]: null,
  [CommandKind.Push]: (body) => [body],
  [CommandKind.Register]: null,
  [CommandKind.Claim]: null,
  [CommandKind.Unclaim]: null,
  [CommandKind.Ack]: null,
  [CommandKind.Extend]: null,
  [CommandKind.AppendTrace]: null,
  [CommandKind.SweepTraces]: null,
  [CommandKind.Configure]: null,
  [CommandKind.DeleteQueue]: null,
  [CommandKind.RaiseVersion]: null,
  [CommandKind.SeekCursors]: null,
  [CommandKind.DeleteCursors]: null,
  [CommandKind.UpdateSubscription]: null,
  [CommandKind.RemoveDeadLetters]: null,
  [CommandKind.ReplayDeadLetter]: behind(decodeReplayDeadLetter),
  [CommandKind.Transaction]: ({ bytes, start, end }) =>
    readSections(bytes, start, end).flatMap((body) => {
      if (body.section === TransactionSection.Pushes) return [body];
      return body.section === TransactionSection.Timers ? firedAtOnce(body) : [];
    }),
  [CommandKind.DeclareEphemeral]: null,
  [CommandKind.DropEphemeral]: null,
  // A pending timer names its record; a dead letter that a timer became names it too.
  [CommandKind.Timers]: firedAtOnce,
  [CommandKind.FireTimers]: behind(decodeFireTimers),
  [CommandKind.FailTimers]: null,
  [CommandKind.RegisterStream]: null,
  [CommandKind.StreamCycle]: behind(decodeStreamCycle),
  [CommandKind.TrimPartitions]: null,
  [CommandKind.DropPartitions]: null,
  [CommandKind.SealCursors]: null,
  [CommandKind.BindEncryptionKey]: null,
  [CommandKind.ForgetNode]: null,
  [CommandKind.KvCall]: null,
  [CommandKind.KvSweep]: null,
  [CommandKind.SetSwitches]: null,
  [CommandKind.SetQuota]: null,
  [CommandKind.PurgeTenant]: null,
};

/** The push body follows what the decoder reads. */
function behind(decode: (reader: BinaryReader) => unknown): FindPushBodies {
  return ({ bytes, start, end }) => {
    const reader = new BinaryReader(bytes, start, end);
    decode(reader);
    return [{ bytes, start: reader.position, end }];
  };
}

/** Messages of timers that were due when they were scheduled: they are appended as they stand here. */
function firedAtOnce({ bytes, start, end }: Body): Body[] {
  return decodeTimers(new BinaryReader(bytes, start, end))
    .filter(({ op, delayMicros }) => op === 'schedule' && delayMicros <= 0)
    .map(({ bodyStart, bodyEnd }) => ({ bytes, start: bodyStart, end: bodyEnd }));
}

/** An append group of an entry. */
export interface AppendedGroup {
  readonly tenant: Uint8Array;
  readonly queue: string;
  readonly partition: string;
  readonly sizeBytes: number;
}

const entry = new EntryReader();
const view = new PushBodyView();

/** Calls back for each append group of the entry; duplicates in it may have appended nothing. */
export function visitAppendedGroups(
  payload: Uint8Array,
  visit: (group: AppendedGroup) => void,
): void {
  if (!entry.open([payload])) return;
  while (entry.next()) {
    const { bytes, start, end } = entry;
    const find = PUSH_BODIES[bytes[start + COMMAND_HEADER.kind] as CommandKind];
    const bodies = find?.({ bytes, start: start + COMMAND_HEADER.body, end }) ?? [];
    if (bodies.length === 0) continue;
    const tenantAt = start + COMMAND_HEADER.tenant;
    const tenant = bytes.subarray(tenantAt, tenantAt + TENANT_BYTES);
    for (const body of bodies) visitGroups(body, tenant, visit);
  }
}

function visitGroups(
  { bytes, start, end }: Body,
  tenant: Uint8Array,
  visit: (group: AppendedGroup) => void,
): void {
  view.open(bytes, start, end);
  while (view.nextGroup()) {
    const sizeBytes = view.blockLength;
    visit({ tenant, queue: view.queueName(), partition: view.partitionName(), sizeBytes });
  }
}
