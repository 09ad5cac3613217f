/** Names of queues, partitions and groups (state.md §5.1), and the ids of messages. */
import { QueenError } from '../../common/errors.js';
import { utf8Length } from '../../common/utf8.js';

const MAX_NAME_BYTES = 512;
const SPACE = 0x20;

/** Throws `ephemeral_bad_request` unless it is 1..512 bytes without control bytes. */
export function checkName(what: 'queue' | 'partition' | 'group', name: string): void {
  const bytes = name.length > MAX_NAME_BYTES ? Infinity : utf8Length(name);
  if (bytes < 1 || bytes > MAX_NAME_BYTES) {
    throw badRequest(`${what} must have 1 to ${MAX_NAME_BYTES} bytes`);
  }
  for (let i = 0; i < name.length; i += 1) {
    if (name.charCodeAt(i) < SPACE) throw badRequest(`${what} must not hold control characters`);
  }
}

export function badRequest(text: string): QueenError {
  return new QueenError('ephemeral_bad_request', text);
}

export interface MessageId {
  readonly incarnation: string;
  readonly partition: string;
  readonly sequence: number;
}

const ID = /^e:([0-9a-f]{1,16}):([^]*):(\d{1,16})$/;

/** `e:<incarnation>:<partition>:<sequence>`, parsed from both ends; null for anything else. */
export function parseMessageId(text: string): MessageId | null {
  const match = ID.exec(text);
  if (match === null) return null;
  const [, incarnation = '', partition = '', sequence = ''] = match;
  return { incarnation, partition, sequence: Number(sequence) };
}
