/**
 * Replays a dead letter (messages.md §11.4): one command pushes a copy to the end of the target and
 * removes the letter. The copy's transactionId is `dlq:<id>`, so a replay can never insert twice inside
 * the dedup window.
 */
import { crc32 } from 'node:zlib';
import { Inject, Injectable } from '@nestjs/common';
import { QueenError } from '../common/errors.js';
import { nameRefusal } from '../common/name-budget.js';
import { murmur3x128Into } from '../common/murmur3-128.js';
import { encodeUtf8, readUtf8 } from '../common/utf8.js';
import type { UuidMint } from '../common/uuid-v7.js';
import { parseUuid, uuidText } from '../common/uuid-v7.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { implicitDefaults } from '../http/implicit-defaults.js';
import { MESSAGE_IDS } from '../http/tokens.js';
import type { ReplayDeadLetterOutcome } from '../machine/commands/catalogue.js';
import { CommandKind } from '../machine/commands/catalogue.js';
import { encodeReplayDeadLetter, PushCommandBuilder } from '../machine/commands/index.js';
import type { DeadLetterRow } from '../machine/tables/dead-letter-row.js';
import { letterById, letterName, readLetter } from '../reads/dead-letters.js';
import { sealingOf } from '../preparation/payload-sealing.js';
import type { QueueSealing } from '../preparation/payload-sealing.js';
import type { LetterMessage } from '../reads/letter-messages.js';
import { letterMessage } from '../reads/letter-messages.js';
import { queuesOf } from '../reads/partition-identity.js';
import { DeadLettersService } from './dead-letters.service.js';
import type { MessagePath, Settled } from './dead-letters.service.js';
import type { ReplayAnswer, ReplayTarget } from './replay-answer.js';
import { GONE, replayed, replayRefused } from './replay-answer.js';

/** Times the copy is prepared again when the target's options changed under it. */
const MAX_PREPARATIONS = 5;
const NO_ID = new Uint8Array(16);

/** Partial overrides of the target: absent = where the message was. */
export interface ReplayOverrides {
  readonly queue: string | null;
  readonly partition: string | null;
}

interface Replay {
  readonly tenant: Uint8Array;
  readonly settled: Settled;
  readonly letter: DeadLetterRow;
  readonly message: LetterMessage;
  readonly target: ReplayTarget;
}

@Injectable()
export class ReplayService {
  constructor(
    private readonly letters: DeadLettersService,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(MESSAGE_IDS) private readonly mint: UuidMint,
  ) {}

  async byId(tenant: Uint8Array, id: string, over: ReplayOverrides): Promise<ReplayAnswer> {
    const uuid = parseUuid(id);
    if (uuid === undefined) return GONE;
    const settled = await this.letters.settled(tenant);
    const { tables } = settled.group;
    const queues = queuesOf(tables, tenant).filter((queue) => queue.deadLetters > 0);
    const view = await settled.group.view();
    try {
      const ids = queues.map((queue) => queue.id);
      const letter = await letterById(view, ids, uuid);
      return letter === undefined ? GONE : await this.replay(tenant, settled, { letter, over });
    } finally {
      await view.close();
    }
  }

  /** The first dead letter of the message. */
  async byMessage(
    tenant: Uint8Array,
    path: MessagePath,
    over: ReplayOverrides,
  ): Promise<ReplayAnswer> {
    const settled = await this.letters.settled(tenant);
    const [first] = await this.letters.ofMessage(settled.group, tenant, path);
    if (first === undefined) return GONE;
    const view = await settled.group.view();
    try {
      const letter = await readLetter(view, first.name);
      return letter === undefined ? GONE : await this.replay(tenant, settled, { letter, over });
    } finally {
      await view.close();
    }
  }

  private async replay(
    tenant: Uint8Array,
    settled: Settled,
    what: { readonly letter: DeadLetterRow; readonly over: ReplayOverrides },
  ): Promise<ReplayAnswer> {
    const { letter, over } = what;
    const { group } = settled;
    if (group.status().storageFull) throw new QueenError('storage_full');
    const { partitions, queues } = group.tables;
    const slot = partitions.byId(letter.partitionId as never);
    const queue = queues.byId(letter.queueId as never);
    if (slot < 0 || queue === undefined) return GONE;
    const target = {
      queue: over.queue ?? queue.name,
      partition: over.partition ?? partitions.name(slot),
      consumerGroup: group.tables.names.groupName(letter.groupId as never),
    };
    const tooLong = nameRefusal(target);
    if (tooLong !== undefined) throw new QueenError('name_too_long', tooLong);
    const message = await letterMessage(group, letter);
    if (message === null) return GONE;
    return this.submit({ tenant, settled, letter, message, target });
  }

  private async submit(replay: Replay): Promise<ReplayAnswer> {
    const { letter, target, message } = replay;
    const { group, options } = replay.settled;
    const messageId = this.mint.mint();
    const transactionId = `dlq:${uuidText(letter.deadLetterId)}`;
    for (let tries = 0; tries < MAX_PREPARATIONS; tries += 1) {
      const stored = await sealingOf({ group, tenant: replay.tenant }, [target.queue], options);
      const bytes = encodeReplayDeadLetter(
        replay.tenant,
        { letter: letterName(letter) },
        this.copyOf(replay, {
          ...{ transactionId, messageId },
          stored: stored.get(target.queue) ?? { optionsVersion: 0, cipher: null },
        }),
      );
      if (bytes.length > this.config.planner.entryMaxBytes) return replayRefused('too_large');
      const outcome = await group.submit({ bytes, growing: true }, options);
      if (outcome.kind !== CommandKind.ReplayDeadLetter) throw new QueenError('retry');
      if (outcome.result === 'reprepare') continue;
      return answerOf(outcome, {
        target,
        transactionId,
        deadLetterId: letter.deadLetterId,
        messageId: outcome.result === 'moved' ? messageId : NO_ID,
        original: readUtf8(message.transactionId, 0, message.transactionId.length),
      });
    }
    throw new QueenError('retry');
  }

  /** The push of the copy: new id, no trace, no producer, encrypted as the target wants it. */
  private copyOf(replay: Replay, copy: Copy): Uint8Array {
    const { tenant, message, target } = replay;
    const { transactionId, messageId } = copy;
    const { optionsVersion, cipher } = copy.stored;
    const encrypted = cipher !== null;
    const payload = cipher === null ? message.payload : cipher.seal(message.payload);
    const limits = {
      defaults: implicitDefaults(),
      windowMinSeconds: Math.ceil(this.config.retention.txnWindowMinMs / 1000),
    };
    const builder = new PushCommandBuilder(limits, (bytes, start, end) =>
      crc32(bytes.subarray(start, end)),
    );
    const group = builder.group({
      queue: target.queue,
      partition: target.partition,
      optionsVersion,
      encrypted,
    });
    const text = encodeUtf8(transactionId);
    const hash = new Uint8Array(16);
    murmur3x128Into(text, 0, text.length, hash, 0);
    builder.add(group, {
      id: messageId,
      idAt: 0,
      hash,
      hashAt: 0,
      clientId: true,
      encrypted,
      transactionId: { bytes: text, start: 0, end: text.length },
      producerSub: null,
      traceId: null,
      payload: { bytes: payload, start: 0, end: payload.length },
    });
    return builder.build(tenant);
  }
}

interface Copy {
  readonly transactionId: string;
  readonly messageId: Uint8Array;
  readonly stored: QueueSealing;
}

function answerOf(
  outcome: ReplayDeadLetterOutcome,
  copy: Parameters<typeof replayed>[1],
): ReplayAnswer {
  if (outcome.result === 'gone') return GONE;
  if (outcome.result === 'refused') return replayRefused(outcome.refusal ?? 'bad_request');
  return replayed(outcome, copy);
}
