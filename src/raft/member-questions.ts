/**
 * Questions that members ask each other outside the log: figures of their own process, never state.
 * A question is a name and a JSON text; a member that is away, slow or does not know the name answers
 * null. Nothing here waits longer than the time it is given.
 */
import type { NodeId } from '../common/ids.js';

export interface MemberQuestions {
  /** How often the streams to another member came up. */
  readonly streamsOpened: number;
  /** Node ids of the other members. */
  others(): readonly NodeId[];
  ask(to: NodeId, question: Question): Promise<string | null>;
  /** One answer per name; the last one given counts. */
  answer(name: string, answer: (body: string) => Promise<string>): void;
}

export interface Question {
  readonly name: string;
  readonly body: string;
  readonly timeoutMs: number;
}

/** Of a node without peers. */
export const NO_OTHERS: MemberQuestions = {
  streamsOpened: 0,
  others: () => [],
  ask: () => Promise.resolve(null),
  answer: () => undefined,
};
