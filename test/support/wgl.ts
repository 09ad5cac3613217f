/**
 * A linearizability checker after Wing & Gong with Lowe's memory of visited configurations ("Testing
 * for linearizability", 2016). Written from the paper; it knows nothing of the broker. A history is
 * linearizable when its operations can be put in one order that keeps real time (an operation that
 * ended before another began comes first) and in which every answer is what the model answers.
 */

export interface Operation<I, O> {
  readonly start: number;
  /** Infinity: nobody knows whether it took effect. */
  readonly end: number;
  readonly input: I;
  /** Undefined when the outcome is unknown. */
  readonly output: O | undefined;
}

export interface Model<S, I, O> {
  readonly initial: S;
  /** The state afterwards, or null when the answer is not what this state answers. */
  step(state: S, input: I, output: O | undefined): S | null;
  /** Equal states have equal keys. */
  keyOf(state: S): string;
}

export interface Verdict {
  readonly linearizable: boolean;
  /** Configurations looked at. */
  readonly visited: number;
  /** Most operations that could be put in order; tells where it broke. */
  readonly longest: number;
}

/** A call or a return in the list of events in time order. */
interface Event {
  readonly operation: number;
  readonly isCall: boolean;
  /** The return of a call; null when it never came. */
  match: Event | null;
  next: Event | null;
  previous: Event | null;
}

export class TooManyConfigurations extends Error {
  override readonly name = 'TooManyConfigurations';
}

export function checkHistory<S, I, O>(
  model: Model<S, I, O>,
  history: readonly Operation<I, O>[],
  maxVisited = 5_000_000,
): Verdict {
  const head = eventList(history);
  const completed = history.filter(({ end }) => end !== Infinity).length;
  const seen = new Set<string>();
  const done = new Set8(history.length);
  const stack: { readonly event: Event; readonly state: S }[] = [];
  let state = model.initial;
  let finished = 0;
  let longest = 0;
  let event = head.next;
  while (finished < completed) {
    if (event?.isCall === true) {
      const { input, output, end } = history[event.operation]!;
      const after = model.step(state, input, output);
      if (after !== null) {
        done.add(event.operation);
        const key = `${done.text()}|${model.keyOf(after)}`;
        if (!seen.has(key)) {
          seen.add(key);
          if (seen.size > maxVisited) throw new TooManyConfigurations(`${seen.size}`);
          stack.push({ event, state });
          longest = Math.max(longest, stack.length);
          state = after;
          if (end !== Infinity) finished += 1;
          lift(event);
          event = head.next;
          continue;
        }
        done.remove(event.operation);
      }
      event = event.next;
      continue;
    }
    // A return of something that is not in order yet, or the end of the list: go back.
    const last = stack.pop();
    if (last === undefined) return { linearizable: false, visited: seen.size, longest };
    state = last.state;
    done.remove(last.event.operation);
    if (history[last.event.operation]!.end !== Infinity) finished -= 1;
    unlift(last.event);
    event = last.event.next;
  }
  return { linearizable: true, visited: seen.size, longest };
}

/** A set of small numbers, a bit each. */
class Set8 {
  private readonly bits: Buffer;

  constructor(size: number) {
    this.bits = Buffer.alloc(Math.ceil(size / 8));
  }

  add(member: number): void {
    this.bits[member >> 3]! |= 1 << (member & 7);
  }

  remove(member: number): void {
    this.bits[member >> 3]! &= ~(1 << (member & 7));
  }

  /** Equal sets have equal texts. */
  text(): string {
    return this.bits.toString('latin1');
  }
}

/** Calls and returns by time; at one instant calls come first, which allows more orders, never fewer. */
function eventList<I, O>(history: readonly Operation<I, O>[]): Event {
  const moments: { readonly at: number; readonly event: Event }[] = [];
  history.forEach(({ start, end }, operation) => {
    const call: Event = { operation, isCall: true, match: null, next: null, previous: null };
    moments.push({ at: start, event: call });
    if (end === Infinity) return;
    const back: Event = { operation, isCall: false, match: null, next: null, previous: null };
    call.match = back;
    moments.push({ at: end, event: back });
  });
  moments.sort((a, b) => a.at - b.at || Number(b.event.isCall) - Number(a.event.isCall));
  const head: Event = { operation: -1, isCall: false, match: null, next: null, previous: null };
  let last = head;
  for (const { event } of moments) {
    last.next = event;
    event.previous = last;
    last = event;
  }
  return head;
}

function lift(event: Event): void {
  unlink(event);
  if (event.match !== null) unlink(event.match);
}

function unlift(event: Event): void {
  if (event.match !== null) link(event.match);
  link(event);
}

function unlink(event: Event): void {
  event.previous!.next = event.next;
  if (event.next !== null) event.next.previous = event.previous;
}

function link(event: Event): void {
  event.previous!.next = event;
  if (event.next !== null) event.next.previous = event;
}
