/**
 * One message with its readers and its dead letter (messages.md §11.2). A timer that never could be fired
 * has a dead letter and no place in the partition: it is shown from the letter, read by nobody.
 */
import { JsonWriter } from '../common/json/json-writer.js';
import { murmur3x128Into } from '../common/murmur3-128.js';
import { timestampText } from '../common/timestamp.js';
import { encodeUtf8 } from '../common/utf8.js';
import { NO_OFFSET } from '../machine/tables/dead-letter-row.js';
import type { DeadLetterRow } from '../machine/tables/dead-letter-row.js';
import { isSuperseded } from '../machine/tables/settled.js';
import type { Group, GroupView, StoredMessage } from '../raft/index.js';
import { lettersOfMessage, readLetter } from '../reads/dead-letters.js';
import { letterMessage } from '../reads/letter-messages.js';
import { firstWithHash } from '../reads/newest-messages.js';
import type { FoundPartition } from '../reads/partition-identity.js';
import { findPartition, partitionUuidText } from '../reads/partition-identity.js';
import { shownOptions } from '../reads/queue-options.js';
import { writeMessage, writePlace } from './message-answer.js';
import { messageStatus, ModeSurvey, partitionReaders } from './message-status.js';

const MAX_LETTERS = 1_000;

export interface MessagePath {
  readonly partitionId: string;
  readonly transactionId: string;
}

interface Detail {
  readonly found: FoundPartition;
  readonly message: StoredMessage;
  readonly letter: DeadLetterRow | null;
}

/** Null when there is no such partition or message. */
export async function messageDetail(
  group: Group,
  tenant: Uint8Array,
  path: MessagePath,
): Promise<Uint8Array | null> {
  const found = findPartition(group.tables, tenant, path.partitionId);
  if (found === undefined) return null;
  const id = group.tables.partitions.id(found.slot);
  const view = await group.view();
  try {
    const hash = hashOf(path.transactionId);
    const offset = await findOffset(group, view, { found, hash });
    const [stored] = offset < 0 ? [] : await group.readMessages(id, offset, offset);
    const letter = await letterOf(group, view, {
      found,
      hash,
      offset: stored?.offset ?? NO_OFFSET,
    });
    const message = stored ?? (letter === null ? null : await unplaced(group, letter));
    if (message === null) return null;
    // The partition may be gone since: its slot is node-local.
    const now = findPartition(group.tables, tenant, path.partitionId);
    return now === undefined ? null : render(group, { found: now, message, letter });
  } finally {
    await view.close();
  }
}

async function findOffset(
  group: Group,
  view: GroupView,
  { found, hash }: { readonly found: FoundPartition; readonly hash: Uint8Array },
): Promise<number> {
  const { partitions } = group.tables;
  const { slot, queue } = found;
  const lastOffset = partitions.lastOffset(slot);
  const partitionId = partitions.id(slot);
  const source = {
    queueId: queue.id,
    partitionId,
    logStart: partitions.logStart(slot),
    lastOffset,
  };
  return firstWithHash(view, source, hash, async () => {
    const tail = { first: lastOffset + 1, last: lastOffset };
    return (await group.findIds(partitionId, hash, tail)).offsets[0] ?? -1;
  });
}

function hashOf(transactionId: string): Uint8Array {
  const text = encodeUtf8(transactionId);
  const hash = new Uint8Array(16);
  murmur3x128Into(text, 0, text.length, hash, 0);
  return hash;
}

async function letterOf(
  group: Group,
  view: GroupView,
  of: { readonly found: FoundPartition; readonly hash: Uint8Array; readonly offset: number },
): Promise<DeadLetterRow | null> {
  const { found, hash, offset } = of;
  const { slot, queue } = found;
  if (group.tables.partitions.deadLetters(slot) === 0) return null;
  const place = { queueId: queue.id, partitionId: group.tables.partitions.id(slot), hash };
  const letters = await lettersOfMessage(view, place, MAX_LETTERS);
  const own = letters.find((letter) => letter.offset === offset);
  return own === undefined ? null : ((await readLetter(view, own.name)) ?? null);
}

/** What a letter holds of a message that never had an offset; null when it went meanwhile. */
async function unplaced(group: Group, letter: DeadLetterRow): Promise<StoredMessage | null> {
  const held = await letterMessage(group, letter);
  if (held === null) return null;
  const { messageId: id, transactionHash: hash, failedAt } = letter;
  return {
    ...{ offset: NO_OFFSET, baseOffset: NO_OFFSET, id, hash, createdAtMicros: failedAt },
    ...held,
  };
}

function render(group: Group, detail: Detail): Uint8Array {
  const { found, message, letter } = detail;
  const { tables } = group;
  const { slot, queue } = found;
  const readers = partitionReaders(tables, slot, group.nowMicros());
  const survey = new ModeSurvey(tables);
  survey.add(slot);
  const out = new JsonWriter(2048 + 2 * message.payload.length);
  out.ascii('{');
  writeMessage(out, message, true);
  out.ascii(',"createdAt":').timestamp(message.createdAtMicros).ascii(',');
  const partition = tables.partitions.name(slot);
  writePlace(out, { queue, partition, uuid: partitionUuidText(tables.partitions, slot) });
  out.ascii(',"namespace":').string(queue.options.namespace);
  out.ascii(',"task":').string(queue.options.task);
  out.ascii(`,"status":"${messageStatus(readers, message.offset, letter !== null)}"`);
  out.ascii(',"errorMessage":').stringOrNull(letter?.error);
  out.ascii(',"retryCount":').integer(letter?.retryCount ?? 0);
  out.ascii(',"isEncrypted":').boolean(message.encrypted);
  out.ascii(',"queueConfig":').ascii(JSON.stringify(shownOptions(queue.options)));
  out.ascii(',"mode":').ascii(JSON.stringify(survey.result()));
  out.ascii(',"consumerGroups":[');
  writeGroups(out, group, { slot, offset: message.offset });
  return out.ascii(']}').view();
}

function writeGroups(
  out: JsonWriter,
  group: Group,
  at: { readonly slot: number; readonly offset: number },
): void {
  const { cursors, leases, names, partitions } = group.tables;
  const now = group.nowMicros();
  let isFirst = true;
  for (let c = partitions.firstCursor(at.slot); c >= 0; c = cursors.nextOnPartition(c)) {
    if (isSuperseded(group.tables, c)) continue;
    if (!isFirst) out.ascii(',');
    isFirst = false;
    const lease = cursors.lease(c);
    const live = lease >= 0 && leases.expiresAt(lease) > now;
    out.ascii('{"name":').string(names.groupName(cursors.groupId(c)));
    out.ascii(',"committed":').number(cursors.committed(c));
    const isPast = at.offset !== NO_OFFSET && cursors.committed(c) >= at.offset;
    out.ascii(',"consumed":').boolean(isPast);
    const end = live ? timestampText(leases.expiresAt(lease)) : undefined;
    out.ascii(',"leaseExpiresAt":').stringOrNull(end).ascii('}');
  }
}
