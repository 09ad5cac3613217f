/**
 * Dead letters over HTTP (messages.md §11.3, §11.4): list, purge, delete by message. Removals name exact
 * letters, a thousand per command, so that a purge of any size stays bounded.
 */
import { Inject, Injectable } from '@nestjs/common';
import { QueenError } from '../common/errors.js';
import { encodeUtf8 } from '../common/utf8.js';
import { murmur3x128Into } from '../common/murmur3-128.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import type { DeadLetterName } from '../machine/commands/catalogue.js';
import { CommandKind } from '../machine/commands/catalogue.js';
import { encodeRemoveDeadLetters } from '../machine/commands/index.js';
import type { CallOptions, Group } from '../raft/index.js';
import { Groups } from '../raft/index.js';
import type { LetterOfMessage } from '../reads/dead-letters.js';
import { lettersOfMessage, lettersOfQueue } from '../reads/dead-letters.js';
import { findPartition, findQueue } from '../reads/partition-identity.js';
import { Slices } from '../reads/slices.js';
import type { LetterFilter } from './dead-letter-list.js';
import { listLetters } from './dead-letter-list.js';

const LETTERS_PER_COMMAND = 1_000;

/** A group read up to now, and how long the call may take. */
export interface Settled {
  readonly group: Group;
  readonly options: CallOptions;
}

export interface MessagePath {
  readonly partitionId: string;
  readonly transactionId: string;
}

@Injectable()
export class DeadLettersService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
  ) {}

  async list(tenant: Uint8Array, filter: LetterFilter): Promise<Uint8Array> {
    const { group } = await this.settled(tenant);
    return listLetters(group, tenant, filter);
  }

  /** Letters removed from the queue, of one group or of all. */
  async purge(
    tenant: Uint8Array,
    queueName: string,
    consumerGroup: string | undefined,
  ): Promise<number> {
    const settled = await this.settled(tenant);
    const { tables } = settled.group;
    const queue = findQueue(tables, tenant, queueName);
    if (queue === undefined) return 0;
    const groupId =
      consumerGroup === undefined ? null : tables.names.group(queue.tenant, consumerGroup);
    if (groupId === undefined || queue.deadLetters === 0) return 0;
    const view = await settled.group.view();
    const slices = new Slices();
    let batch: DeadLetterName[] = [];
    let removed = 0;
    try {
      for await (const letter of lettersOfQueue(view, queue.id)) {
        if (groupId === null || letter.groupId === groupId) batch.push(letter.name);
        if (batch.length === LETTERS_PER_COMMAND) {
          removed += await removeLetters(settled, tenant, batch);
          batch = [];
        }
        if (slices.isSpent()) await slices.pause();
      }
    } finally {
      await view.close();
    }
    return removed + (await removeLetters(settled, tenant, batch));
  }

  /** Letters removed of the messages at this address, all groups. */
  async removeOfMessage(tenant: Uint8Array, path: MessagePath): Promise<number> {
    const settled = await this.settled(tenant);
    const letters = await this.ofMessage(settled.group, tenant, path);
    return removeLetters(
      settled,
      tenant,
      letters.map(({ name }) => name),
    );
  }

  /** Dead letters at this address, by offset; at most a command's worth. */
  async ofMessage(group: Group, tenant: Uint8Array, path: MessagePath): Promise<LetterOfMessage[]> {
    const found = findPartition(group.tables, tenant, path.partitionId);
    if (found === undefined || group.tables.partitions.deadLetters(found.slot) === 0) return [];
    const hash = new Uint8Array(16);
    const text = encodeUtf8(path.transactionId);
    murmur3x128Into(text, 0, text.length, hash, 0);
    const place = {
      queueId: found.queue.id,
      partitionId: group.tables.partitions.id(found.slot),
      hash,
    };
    const view = await group.view();
    try {
      return await lettersOfMessage(view, place, LETTERS_PER_COMMAND);
    } finally {
      await view.close();
    }
  }

  async settled(tenant: Uint8Array): Promise<Settled> {
    const group = this.groups.ofTenant(tenant);
    const options = { deadlineMs: deadlineAfter(this.config.server.defaultTimeoutMs) };
    await group.readBarrier(options);
    return { group, options };
  }
}

async function removeLetters(
  { group, options }: Settled,
  tenant: Uint8Array,
  letters: readonly DeadLetterName[],
): Promise<number> {
  if (letters.length === 0) return 0;
  const bytes = encodeRemoveDeadLetters(tenant, { letters });
  const outcome = await group.submit({ bytes }, options);
  if (outcome.kind !== CommandKind.RemoveDeadLetters) throw new QueenError('retry');
  return outcome.removed;
}
