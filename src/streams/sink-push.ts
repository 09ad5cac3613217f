/** Messages of a cycle to its sinks: one push of one group per (queue, partition), in input order. */
import { QueenError } from '../common/errors.js';
import { murmur3x128Into } from '../common/murmur3-128.js';
import { MAX_TRANSACTION_ID_BYTES, nameRefusal } from '../common/name-budget.js';
import { encodeUtf8, utf8Length } from '../common/utf8.js';
import type { UuidMint } from '../common/uuid-v7.js';
import { parseUuid, uuidText } from '../common/uuid-v7.js';
import type { JsonObject } from '../http/json-body.js';
import type { PushCommandLimits } from '../machine/commands/catalogue.js';
import { PushCommandBuilder } from '../machine/commands/index.js';
import { recordCrc } from '../preparation/checksum.js';
import { sealingOf } from '../preparation/payload-sealing.js';
import type { CallOptions, Group } from '../raft/index.js';
import { optionalString } from './stream-body.js';

const EMPTY_OBJECT = Uint8Array.of(0x7b, 0x7d);

export interface SinkMessage {
  readonly queue: string;
  readonly partition: string;
  readonly id: Uint8Array;
  readonly transactionId: string;
  readonly payload: Uint8Array;
}

/** Items without a queue are left out. */
export function sinkMessages(
  items: readonly JsonObject[],
  payloads: readonly (Uint8Array | null)[],
  mint: UuidMint,
): SinkMessage[] {
  return items.flatMap((item, i): SinkMessage[] => {
    const within = `push_items[${i}].`;
    const queue = optionalString(item, 'queue', within);
    if (queue === null) return [];
    const partition = optionalString(item, 'partition', within) ?? 'Default';
    const tooLong = nameRefusal({ queue, partition });
    if (tooLong !== undefined) throw new QueenError('name_too_long', tooLong);
    const id = parseUuid(optionalString(item, 'messageId', within) ?? '') ?? mint.mint();
    const transactionId = optionalString(item, 'transactionId', within) ?? uuidText(id);
    if (utf8Length(transactionId) > MAX_TRANSACTION_ID_BYTES) {
      const text = `transactionId is longer than ${MAX_TRANSACTION_ID_BYTES} bytes`;
      throw new QueenError('bad_request', `${within}${text}`);
    }
    return [{ queue, partition, id, transactionId, payload: payloads[i] ?? EMPTY_OBJECT }];
  });
}

/** One push command; payloads are sealed where the sink encrypts. */
export async function sinkPush(
  messages: readonly SinkMessage[],
  scene: {
    readonly tenant: Uint8Array;
    readonly group: Group;
    readonly limits: PushCommandLimits;
  },
  options: CallOptions,
): Promise<Uint8Array> {
  const { tenant, limits } = scene;
  const sealing = await sealingOf(
    scene,
    messages.map(({ queue }) => queue),
    options,
  );
  const builder = new PushCommandBuilder(limits, recordCrc);
  const numbers = new Map<string, number>();
  for (const message of messages) {
    const { queue, partition, id } = message;
    const target = `${queue}\0${partition}`;
    const { optionsVersion, cipher } = sealing.get(queue) ?? { optionsVersion: 0, cipher: null };
    const encrypted = cipher !== null;
    const number =
      numbers.get(target) ?? builder.group({ queue, partition, optionsVersion, encrypted });
    const payload = cipher === null ? message.payload : cipher.seal(message.payload);
    numbers.set(target, number);
    const text = encodeUtf8(message.transactionId);
    const hash = new Uint8Array(16);
    murmur3x128Into(text, 0, text.length, hash, 0);
    builder.add(number, {
      ...{ id, idAt: 0, hash, hashAt: 0, clientId: true, encrypted },
      ...{ producerSub: null, traceId: null },
      transactionId: { bytes: text, start: 0, end: text.length },
      payload: { bytes: payload, start: 0, end: payload.length },
    });
  }
  return builder.build(tenant);
}
