/** Binds the cluster to the first encryption key used (spec §2.11): first come, for ever. */
import { CommandKind } from '../commands/catalogue.js';
import type { BindEncryptionKeyCommand, BindEncryptionKeyOutcome } from '../commands/encryption.js';
import type { ApplyContext } from './context.js';

export function applyBindEncryptionKey(
  context: ApplyContext,
  command: BindEncryptionKeyCommand,
): BindEncryptionKeyOutcome {
  const { encryption } = context.tables;
  if (encryption.check === null) {
    encryption.bind(command.check);
    context.digest.bytes(command.check);
  }
  const isBound = encryption.check?.every((byte, i) => byte === command.check[i]) ?? false;
  return { kind: CommandKind.BindEncryptionKey, isBound };
}
