/**
 * Whether a command may go in while storage is short (messages.md §14.3): a growing write is refused by
 * this node's disk gate and by a full overlay; everything else goes on. A push always grows; other
 * commands say so themselves.
 */
import { QueenError } from '../../common/errors.js';
import { COMMAND_HEADER, CommandKind } from '../../machine/commands/catalogue.js';
import type { PreparedCommand } from './group.js';

export interface StorageGauges {
  readonly diskGate?: { readonly isFull: boolean };
  readonly store: { readonly isFull: boolean };
}

/** The refusal of a growing command, undefined when it may go in. */
export function growthRefusal(
  command: PreparedCommand,
  gauges: StorageGauges,
): QueenError | undefined {
  const grows = command.growing ?? command.bytes[COMMAND_HEADER.kind] === CommandKind.Push;
  if (!grows) return undefined;
  if (gauges.diskGate?.isFull === true) return new QueenError('storage_full');
  return gauges.store.isFull ? new QueenError('overloaded') : undefined;
}
