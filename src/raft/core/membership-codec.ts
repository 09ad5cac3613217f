/**
 * Bytes of a membership entry. An empty entry means "leave the joint state", so that it can never be
 * refused for its size.
 *
 *   u8 version = 1 | u8 transition | u16 count | count x (u8 action, u32 high, u32 low) | context
 *
 * Node ids are split in two halves because bit operators would cut them at 32 bits.
 */
import { nodeId } from '../../common/ids.js';
import { invariant } from './invariant.js';
import type { ChangeAction, ConfigChange, SingleChange, Transition } from './types.js';

const VERSION = 1;
const HEADER_BYTES = 4;
const CHANGE_BYTES = 9;
const TWO_POW_32 = 2 ** 32;
/** Largest number of changes in one proposal. */
const MAX_CHANGES = 0xffff;

const TRANSITIONS: readonly Transition[] = ['auto', 'implicit', 'explicit'];
const ACTIONS: readonly ChangeAction[] = ['add-voter', 'add-learner', 'remove', 'update'];

export function encodeConfigChange(change: ConfigChange): Uint8Array {
  const context = change.context ?? new Uint8Array(0);
  const count = change.changes.length;
  if (count === 0 && context.byteLength === 0) return new Uint8Array(0);
  invariant(count <= MAX_CHANGES, 'too many changes in one proposal', () => ({ count }));
  const bytes = new Uint8Array(HEADER_BYTES + count * CHANGE_BYTES + context.byteLength);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, VERSION);
  view.setUint8(1, TRANSITIONS.indexOf(change.transition));
  view.setUint16(2, count);
  let at = HEADER_BYTES;
  for (const { action, node } of change.changes) {
    view.setUint8(at, ACTIONS.indexOf(action));
    view.setUint32(at + 1, Math.floor(node / TWO_POW_32));
    view.setUint32(at + 5, node % TWO_POW_32);
    at += CHANGE_BYTES;
  }
  bytes.set(context, at);
  return bytes;
}

export function decodeConfigChange(bytes: Uint8Array): ConfigChange | 'malformed' {
  if (bytes.byteLength === 0) return { transition: 'auto', changes: [] };
  if (bytes.byteLength < HEADER_BYTES) return 'malformed';
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const transition = TRANSITIONS[view.getUint8(1)];
  const count = view.getUint16(2);
  const end = HEADER_BYTES + count * CHANGE_BYTES;
  if (view.getUint8(0) !== VERSION || transition === undefined) return 'malformed';
  if (bytes.byteLength < end) return 'malformed';
  const changes: SingleChange[] = [];
  for (let at = HEADER_BYTES; at < end; at += CHANGE_BYTES) {
    const action = ACTIONS[view.getUint8(at)];
    const node = view.getUint32(at + 1) * TWO_POW_32 + view.getUint32(at + 5);
    if (action === undefined || !Number.isSafeInteger(node)) return 'malformed';
    changes.push({ action, node: nodeId(node) });
  }
  // A copy: the entry's bytes may live in a buffer far larger than the change.
  return { transition, changes, context: bytes.slice(end) };
}
