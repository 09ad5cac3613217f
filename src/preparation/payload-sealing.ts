/**
 * Encryption of payloads on their way into a command (messages.md §2.11): where the queue asks for it
 * and this node has a key. The first use binds the cluster to the key, before anything is written with
 * it. Without a key payloads are stored as they came; a push is never refused for that.
 */
import { QueenError } from '../common/errors.js';
import type { PushScan } from '../common/json/push-scan.js';
import { CommandKind } from '../machine/commands/catalogue.js';
import { encodeBindEncryptionKey, MESSAGE_FLAG } from '../machine/commands/index.js';
import type { PushBatch, PushBatchGroup } from '../machine/commands/push-batch.js';
import type { QueueRow } from '../machine/tables/tables.js';
import type { CallOptions, Group, PayloadCipher } from '../raft/index.js';
import { findQueue } from '../reads/partition-identity.js';

/** Whether this node encrypts what goes to the queue. */
export function encrypts(group: Group, queue: QueueRow | undefined): boolean {
  return group.cipher !== null && queue?.options.encryptionEnabled === true;
}

/** The cipher, once the cluster is bound to its key; null without a key. */
export async function boundCipher(
  group: Group,
  options: CallOptions,
): Promise<PayloadCipher | null> {
  const { cipher } = group;
  if (cipher === null) return null;
  if (group.tables.encryption.check === null) {
    const bytes = encodeBindEncryptionKey({ check: cipher.check });
    const outcome = await group.submit({ bytes }, options);
    if (outcome.kind !== CommandKind.BindEncryptionKey) throw new QueenError('retry');
  }
  const { check } = group.tables.encryption;
  // Another node was first, with another key: this one must not write what nobody else can read.
  if (check === null || Buffer.compare(check, cipher.check) !== 0) {
    throw new QueenError(
      'retry',
      'QUEEN_ENCRYPTION_KEY of this node is not the key of the cluster',
    );
  }
  return cipher;
}

/** How this node stores what goes to one queue. */
export interface QueueSealing {
  /** Of the options that were looked at; 0 when there is no queue. */
  readonly optionsVersion: number;
  /** Null: in clear. */
  readonly cipher: PayloadCipher | null;
}

/**
 * How payloads for the queues are stored. Options and their versions are taken together, before any
 * wait: whatever changes later shows in the version, and the machine asks for another preparation.
 */
export async function sealingOf(
  to: { readonly group: Group; readonly tenant: Uint8Array },
  queues: Iterable<string>,
  options: CallOptions,
): Promise<ReadonlyMap<string, QueueSealing>> {
  const { group, tenant } = to;
  const seen = [...new Set(queues)].map((queue) => {
    const row = findQueue(group.tables, tenant, queue);
    return { queue, optionsVersion: row?.optionsVersion ?? 0, seals: encrypts(group, row) };
  });
  const cipher = seen.some(({ seals }) => seals) ? await boundCipher(group, options) : null;
  return new Map(
    seen.map(({ queue, optionsVersion, seals }) => [
      queue,
      { optionsVersion, cipher: seals ? cipher : null },
    ]),
  );
}

/** Seals what goes to groups marked as encrypted, if there are any. */
export async function sealPayloads(
  scan: PushScan,
  batch: PushBatch,
  into: {
    readonly group: Group;
    readonly groups: readonly PushBatchGroup[];
    readonly options: CallOptions;
  },
): Promise<void> {
  if (!into.groups.some(({ encrypted }) => encrypted)) return;
  const cipher = await boundCipher(into.group, into.options);
  if (cipher !== null) sealBatch(scan, batch, into.groups, cipher);
}

/**
 * Replaces the payloads of the groups to be encrypted by their sealed form, behind the request's body;
 * from the scan, so that it can be done again for other groups.
 */
function sealBatch(
  scan: PushScan,
  batch: PushBatch,
  groups: readonly PushBatchGroup[],
  cipher: PayloadCipher,
): void {
  const pieces: Uint8Array[] = [scan.body];
  let end = scan.body.length;
  for (let i = 0; i < batch.count; i += 1) {
    const start = scan.payloadStarts[i] ?? 0;
    const stop = scan.payloadEnds[i] ?? 0;
    const sealed = groups[batch.groups[i] ?? -1]?.encrypted === true;
    batch.flags[i] = (batch.flags[i] ?? 0) & ~MESSAGE_FLAG.encrypted;
    batch.payloadStarts[i] = sealed ? end : start;
    batch.payloadEnds[i] = stop;
    if (!sealed) continue;
    const bytes = cipher.seal(scan.body.subarray(start, stop));
    pieces.push(bytes);
    end += bytes.length;
    batch.payloadEnds[i] = end;
    batch.flags[i] = (batch.flags[i] ?? 0) | MESSAGE_FLAG.encrypted;
  }
  batch.body = pieces.length === 1 ? scan.body : Buffer.concat(pieces);
}
