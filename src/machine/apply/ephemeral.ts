/** Declarations of ephemeral queues coming, changing and going (state.md §5.5). */
import { CommandKind } from '../commands/catalogue.js';
import type {
  DeclareEphemeralCommand,
  DeclareEphemeralOutcome,
  DropEphemeralCommand,
  DropEphemeralOutcome,
} from '../commands/ephemeral-catalogue.js';
import type { ApplyContext } from './context.js';

/** Each declaration replaces the previous one whole. */
export function applyDeclareEphemeral(
  context: ApplyContext,
  command: DeclareEphemeralCommand,
): DeclareEphemeralOutcome {
  const { names, ephemeral } = context.tables;
  const tenant = names.ensureTenant(context.tenantUuid);
  const created = ephemeral.find(tenant, command.queue) === undefined;
  ephemeral.declare(tenant, command.queue, {
    declaredAt: context.now,
    optionsText: command.optionsText,
  });
  foldName(context, command.queue);
  context.digest.text(command.optionsText);
  return { kind: CommandKind.DeclareEphemeral, created };
}

export function applyDropEphemeral(
  context: ApplyContext,
  command: DropEphemeralCommand,
): DropEphemeralOutcome {
  const tenant = context.tenant();
  const existed = tenant !== undefined && context.tables.ephemeral.drop(tenant, command.queue);
  if (existed) foldName(context, command.queue);
  return { kind: CommandKind.DropEphemeral, existed };
}

function foldName(context: ApplyContext, queue: string): void {
  context.digest.bytes(context.tenantUuid);
  context.digest.text(queue);
}
