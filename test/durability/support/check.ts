/**
 * Compares an opened group with the ledger: every acknowledged message once, gapless, in order, with
 * its content, but for what retention was asked to cut off; cursors never behind; leases, options, dead
 * letters with their messages and deletes as answered; an id sent again answers its first offset. Throws on the first promise broken, then takes over what the crash
 * decided.
 */
import type { Prng } from '../../../src/common/prng.js';
import { CommandKind, PushItemStatus } from '../../../src/machine/commands/index.js';
import { RecordGoneError } from '../../../src/common/record-gone.js';
import { decodeDeadLetterRow } from '../../../src/machine/tables/dead-letter-row.js';
import type { DeadLetterRow } from '../../../src/machine/tables/dead-letter-row.js';
import { KEYSPACE } from '../../../src/machine/tables/keyspaces.js';
import type { QueueRow } from '../../../src/machine/tables/tables.js';
import type { LocalGroup } from '../../../src/raft/group/local-group.js';
import { hashOf, pushCommand, TENANT } from '../../support/group-commands.js';
import { numberOf, payloadOf } from './ledger.js';
import type { Ledger, PartitionFacts, QueueFacts } from './ledger.js';
import { hex } from './workload.js';

const PATIENCE_MS = 60_000;
/** Partitions checked at the same time. */
const PARALLEL = 16;
const EVERYTHING = 1_000_000;

export class BrokenPromise extends Error {
  override readonly name = 'BrokenPromise';
}

/** `prng`: which ids are sent again; all of them without one. */
export async function checkGroup(group: LocalGroup, ledger: Ledger, prng?: Prng): Promise<void> {
  const filed = await deadLetters(group);
  await checkLetterMessages(group, [...filed.values()]);
  for (const queue of ledger.queues.values()) {
    const row = queueRow(group, queue.name);
    if (row === undefined) {
      checkMissingQueue(queue);
      continue;
    }
    if (queue.deleted) fail(`queue ${queue.name} was deleted and is there`);
    queue.deleteAsked = false;
    checkOptions(queue, row);
    await inParallel([...queue.partitions.values()], async (facts) => {
      const slot = group.tables.partitions.find(row.id, facts.name);
      if (slot < 0) return checkMissingPartition(facts);
      await checkMessages(group, facts, slot);
      checkCursors(group, facts, slot);
      checkFiled(facts, filed);
      await checkDedup(group, facts, { slot, prng });
    });
  }
}

async function inParallel<T>(
  items: readonly T[],
  check: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const worker = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await check(item);
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
}

function checkMissingQueue(queue: QueueFacts): void {
  const told = [...queue.partitions.values()].some((facts) => facts.acknowledged.size > 0);
  if (!queue.deleteAsked && (told || queue.retryLimit !== undefined)) {
    fail(`queue ${queue.name} is gone`);
  }
  queue.forget();
}

function checkMissingPartition(facts: PartitionFacts): void {
  if (facts.acknowledged.size > 0) fail(`partition ${facts.queue}/${facts.name} is gone`);
}

function checkOptions(queue: QueueFacts, row: QueueRow): void {
  const { retryLimit } = row.options;
  if (queue.retryLimit === undefined || retryLimit === queue.retryLimit) return;
  if (!queue.retryLimitsAsked.has(retryLimit)) {
    fail(`queue ${queue.name}: retryLimit ${retryLimit}, answered was ${queue.retryLimit}`);
  }
  queue.retryLimit = retryLimit;
}

async function checkMessages(
  group: LocalGroup,
  facts: PartitionFacts,
  slot: number,
): Promise<void> {
  const where = `${facts.queue}/${facts.name}`;
  facts.partitionId = group.tables.partitions.id(slot);
  const start = group.tables.partitions.logStart(slot);
  if (start < facts.trimmed) fail(`${where}: the log starts at ${start}, cut to ${facts.trimmed}`);
  if (start > facts.trimmedAtMost) fail(`${where}: nobody cut the log to ${start}`);
  facts.trimmed = start;
  const messages = await group.readMessages(facts.partitionId, 0, EVERYTHING);
  const found = new Map<string, number>();
  messages.forEach((message, i) => {
    const at = start + i;
    if (message.offset !== at) fail(`${where}: offset ${message.offset} where ${at} was expected`);
    const id = text(message.transactionId);
    if (found.has(id)) fail(`${where}: ${id} is there twice`);
    found.set(id, at);
    if (!facts.submitted.has(id)) fail(`${where}: nobody sent ${id}`);
    if (text(message.payload) !== payloadOf(id)) fail(`${where}: ${id} has another payload`);
  });
  const last = group.tables.partitions.lastOffset(slot);
  if (messages.length !== last + 1 - start) {
    fail(`${where}: ${messages.length} messages from ${start} on, last is ${last}`);
  }
  for (const [id, offset] of facts.acknowledged) {
    if (offset < start) {
      if (numberOf(id) >= facts.numbersCut) fail(`${where}: ${id} was cut off too early`);
    } else if (found.get(id) !== offset) {
      fail(`${where}: ${id} was acknowledged at offset ${offset}, found at ${found.get(id)}`);
    }
  }
  for (const { fresh } of facts.pushes) {
    const stored = fresh.filter((id) => found.has(id)).length;
    if (stored > 0 && stored < fresh.length) fail(`${where}: half of a push is there: ${fresh}`);
  }
  for (const [id, offset] of found) facts.confirm(id, offset);
}

function checkCursors(group: LocalGroup, facts: PartitionFacts, slot: number): void {
  const { partitions, cursors, leases, names } = group.tables;
  const seen = new Set<string>();
  const first = partitions.firstCursor(slot);
  for (let cursor = first; cursor >= 0; cursor = cursors.nextOnPartition(cursor)) {
    const name = names.groupName(cursors.groupId(cursor));
    const where = `${facts.queue}/${facts.name}/${name}`;
    seen.add(name);
    const known = facts.group(name);
    known.busy = false;
    const committed = cursors.committed(cursor);
    if (committed < known.committed) fail(`${where}: cursor ${committed} < ${known.committed}`);
    if (committed > known.committedAtMost) fail(`${where}: cursor ${committed} was never asked`);
    known.committed = committed;
    const attempt = cursors.attemptOffset(cursor);
    if (attempt > partitions.lastOffset(slot) + 1) fail(`${where}: attempt at ${attempt}`);
    const lease = cursors.lease(cursor);
    const held =
      lease < 0
        ? null
        : {
            id: hex(leases.copyId(lease)),
            first: leases.firstOffset(lease),
            last: leases.batchEnd(lease),
          };
    if (held !== null && (held.last <= committed || held.last > partitions.lastOffset(slot))) {
      fail(`${where}: lease ends at ${held.last}, cursor ${committed}`);
    }
    const expected = known.lease;
    if (expected !== 'unknown' && (expected?.id !== held?.id || expected?.last !== held?.last)) {
      fail(`${where}: lease ${JSON.stringify(held)}, answered ${JSON.stringify(expected)}`);
    }
    known.lease = held;
  }
  for (const [name, known] of facts.groups) {
    known.busy = false;
    if (seen.has(name)) continue;
    const told = known.committed >= 0 || (known.lease !== null && known.lease !== 'unknown');
    if (told) fail(`${facts.queue}/${facts.name}/${name}: the cursor is gone`);
    known.lease = null;
  }
}

function checkFiled(facts: PartitionFacts, found: ReadonlyMap<string, DeadLetterRow>): void {
  for (const id of facts.filed) {
    if (found.get(id)?.partitionId !== facts.partitionId)
      fail(`${facts.name}: dead letter ${id} is gone`);
  }
  for (const [id, { partitionId }] of found) {
    if (partitionId !== facts.partitionId) continue;
    if (!facts.filedAtMost.has(id)) fail(`${facts.name}: nobody filed dead letter ${id}`);
    facts.filed.add(id);
  }
}

/** Sends stored ids again: every one is a duplicate of its first offset. */
async function checkDedup(
  group: LocalGroup,
  facts: PartitionFacts,
  { slot, prng }: { readonly slot: number; readonly prng: Prng | undefined },
): Promise<void> {
  const all = [...facts.acknowledged.keys()];
  const ids = prng === undefined ? all : all.filter(() => prng.nextBelow(8) === 0);
  if (ids.length === 0) return;
  const messages = ids.map((id) => ({ transactionId: id, payload: payloadOf(id) }));
  const command = pushCommand(facts.queue, facts.name, messages);
  const outcome = await group.submit(command, { deadlineMs: performance.now() + PATIENCE_MS });
  const answer = outcome.kind === CommandKind.Push ? outcome.groups[0] : undefined;
  ids.forEach((id, i) => {
    const status = answer?.statuses[i];
    const offset = answer?.offsets[i];
    if (status === PushItemStatus.Duplicate && offset === facts.acknowledged.get(id)) return;
    fail(`${facts.name}: ${id} sent again is answered ${status} at ${offset}`);
  });
  const hashes = Buffer.concat(ids.map((id) => hashOf(id)));
  const span = { first: 0, last: group.tables.partitions.lastOffset(slot) };
  const { offsets } = await group.findIds(facts.partitionId, hashes, span);
  ids.forEach((id, i) => {
    const expected = facts.acknowledged.get(id);
    if (offsets[i] !== expected) fail(`${facts.name}: ${id} is looked up at ${offsets[i]}`);
  });
}

/** Each dead letter holds its message, also when retention took it from the log. */
async function checkLetterMessages(
  group: LocalGroup,
  letters: readonly DeadLetterRow[],
): Promise<void> {
  await inParallel(letters, async ({ entryIndex, blockOffset, start, length, crc, offset }) => {
    try {
      await group.readRecord({ entryIndex, start: blockOffset + start, length, crc });
    } catch (error) {
      if (!(error instanceof RecordGoneError)) throw error;
      fail(`the message at ${offset} of a dead letter is gone: ${error.message}`);
    }
  });
}

async function deadLetters(group: LocalGroup): Promise<Map<string, DeadLetterRow>> {
  const found = new Map<string, DeadLetterRow>();
  const view = await group.view();
  try {
    const range = {
      gte: Uint8Array.of(KEYSPACE.deadLetters),
      lt: Uint8Array.of(KEYSPACE.deadLetters + 1),
    };
    for await (const [, value] of view.iterate(range)) {
      const row = decodeDeadLetterRow(value);
      found.set(hex(row.deadLetterId), row);
    }
  } finally {
    await view.close();
  }
  return found;
}

function queueRow(group: LocalGroup, name: string): QueueRow | undefined {
  const { names, queues } = group.tables;
  const tenant = names.tenant(TENANT);
  return tenant === undefined ? undefined : queues.find(tenant, name);
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

function fail(what: string): never {
  throw new BrokenPromise(what);
}
