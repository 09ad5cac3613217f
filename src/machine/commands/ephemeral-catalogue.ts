/**
 * Commands about ephemeral queues (state.md §5.5). The log knows only their declarations: names and
 * options as the client sent them. Contents live in the memory of one node and are never logged.
 */
import type { CommandKind } from './catalogue.js';

/** Declares a queue or replaces the options of a declared one. */
export interface DeclareEphemeralCommand {
  readonly queue: string;
  /** JSON object of options, validated before the log, clamped by whoever applies them. */
  readonly optionsText: string;
}

export interface DropEphemeralCommand {
  readonly queue: string;
}

export interface DeclareEphemeralOutcome {
  readonly kind: CommandKind.DeclareEphemeral;
  readonly created: boolean;
}

export interface DropEphemeralOutcome {
  readonly kind: CommandKind.DropEphemeral;
  readonly existed: boolean;
}
