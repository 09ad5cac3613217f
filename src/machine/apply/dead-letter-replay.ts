/**
 * Removing dead letters and replaying one (spec §11.4). A replay is one entry: the copy is pushed and
 * the letter goes, or neither. A copy that repeats a stored message leaves the letter where it is.
 */
import { CommandKind, PushItemStatus } from '../commands/catalogue.js';
import type {
  RemoveDeadLettersCommand,
  RemoveDeadLettersOutcome,
  ReplayDeadLetterCommand,
  ReplayDeadLetterOutcome,
} from '../commands/catalogue.js';
import type { PrefetchSink } from '../machine.js';
import type { ApplyContext } from './context.js';
import { deadLetterRowKey, findDeadLetter, removeDeadLetter } from './dead-letters.js';
import type { PushApplier, PushBody } from './push.js';

export function prefetchRemoveDeadLetters(
  command: RemoveDeadLettersCommand,
  sink: PrefetchSink,
): void {
  for (const letter of command.letters) sink.row(deadLetterRowKey(letter));
}

export function applyRemoveDeadLetters(
  context: ApplyContext,
  command: RemoveDeadLettersCommand,
): RemoveDeadLettersOutcome {
  let removed = 0;
  for (const letter of command.letters) if (removeDeadLetter(context, letter)) removed += 1;
  return { kind: CommandKind.RemoveDeadLetters, removed };
}

/** A replay inside its entry. */
export interface Replay {
  readonly command: ReplayDeadLetterCommand;
  readonly copy: PushBody;
}

export function prefetchReplay(replay: Replay, push: PushApplier, sink: PrefetchSink): void {
  sink.row(deadLetterRowKey(replay.command.letter));
  push.prefetch(replay.copy, sink);
}

export function applyReplay(
  context: ApplyContext,
  replay: Replay,
  push: PushApplier,
): ReplayDeadLetterOutcome {
  const { letter } = replay.command;
  if (findDeadLetter(context, letter) === undefined) return outcome('gone');
  const [group] = push.apply(replay.copy).groups;
  if (group === undefined) return outcome('refused', 'bad_request');
  if (group.verdict === 'reprepare') return outcome('reprepare');
  if (group.verdict === 'refused') return outcome('refused', group.refusal);
  const offset = group.offsets[0] ?? -1;
  if (group.statuses[0] !== PushItemStatus.Queued) {
    return { ...outcome('duplicate'), offset };
  }
  removeDeadLetter(context, letter);
  return { ...outcome('moved'), offset };
}

function outcome(
  result: ReplayDeadLetterOutcome['result'],
  refusal: string | null = null,
): ReplayDeadLetterOutcome {
  return { kind: CommandKind.ReplayDeadLetter, result, refusal, offset: -1 };
}
