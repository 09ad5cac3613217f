/**
 * Expected answers. An expectation is JSON in which a text that starts with `$` stands for an id (or a
 * text made of ids) that the broker mints, and in which a few markers stand for what the contract leaves
 * open. Members that an expectation does not name are not compared. Imports nothing from the broker.
 */
export interface Expected {
  readonly status: number;
  readonly body?: unknown;
}

/** An answer as the driver hands it on, ids already replaced by their symbols where they are known. */
export interface Answer {
  readonly status: number;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- any JSON
  readonly body: any;
}

/** Any text that is not empty. */
export const TEXT = { $: 'text' } as const;
/** The member must not be there. */
export const ABSENT = { $: 'absent' } as const;
/** Left open. */
export const ANY = { $: 'any' } as const;

/** A time, to the millisecond. */
export const time = (ms: number): object => ({ $: 'time', ms });
export const startsWith = (text: string): object => ({ $: 'starts', text });
export const oneOf = (...values: readonly unknown[]): object => ({ $: 'oneOf', values });
/** The same elements in any order, told apart by one member. */
export const unordered = (by: string, values: readonly unknown[]): object => ({
  ...{ $: 'unordered', by, values },
});

/** The answer shows a choice the contract does not allow. */
export class Illegal extends Error {}
