/**
 * What a key-value store answers, in a few lines: the model that histories of real nodes are held
 * against. Values are small integers; a call is atomic over all its keys. Imports nothing of the broker.
 */
import type { Model, Operation } from './wgl.js';

export type KvInput =
  | { readonly kind: 'read'; readonly keys: readonly string[] }
  /** Also the multi-key write: all of it at once. */
  | { readonly kind: 'write'; readonly keys: readonly string[]; readonly value: number }
  | { readonly kind: 'add'; readonly key: string; readonly delta: number }
  | { readonly kind: 'create'; readonly key: string; readonly value: number }
  | { readonly kind: 'remove'; readonly key: string }
  /** A write under the version of the row that held `from`; every value is written once, so they are one. */
  | { readonly kind: 'swap'; readonly key: string; readonly from: number; readonly value: number }
  /** One call that takes from one key and gives to another. */
  | { readonly kind: 'transfer'; readonly from: string; readonly to: string; readonly by: number }
  /** One call that writes a key and reads several; it sees its own write and nothing later. */
  | {
      readonly kind: 'exchange';
      readonly key: string;
      readonly value: number;
      readonly keys: readonly string[];
    };

/** Values by key (null = absent), a sum, or whether a condition held. */
export type KvOutput = readonly (number | null)[] | number | boolean;

export type KvState = Readonly<Record<string, number>>;
export type KvHistory = readonly Operation<KvInput, KvOutput>[];

export const KV_MODEL: Model<KvState, KvInput, KvOutput> = {
  initial: {},
  keyOf: (state) => JSON.stringify(Object.entries(state).sort(([a], [b]) => (a < b ? -1 : 1))),
  step(state, input, output) {
    switch (input.kind) {
      case 'read':
        return told(state, output, valuesOf(state, input.keys));
      case 'write':
        return {
          ...state,
          ...Object.fromEntries(input.keys.map((key) => [key, input.value])),
        };
      case 'add': {
        const sum = (state[input.key] ?? 0) + input.delta;
        return output === undefined || output === sum ? { ...state, [input.key]: sum } : null;
      }
      case 'create':
        return conditional(state, output, {
          holds: state[input.key] === undefined,
          after: { ...state, [input.key]: input.value },
        });
      case 'remove': {
        const { [input.key]: removed, ...after } = state;
        return conditional(state, output, { holds: removed !== undefined, after });
      }
      case 'swap':
        return conditional(state, output, {
          holds: state[input.key] === input.from,
          after: { ...state, [input.key]: input.value },
        });
      case 'transfer': {
        const from = (state[input.from] ?? 0) - input.by;
        const to = (state[input.to] ?? 0) + input.by;
        return told({ ...state, [input.from]: from, [input.to]: to }, output, [from, to]);
      }
      case 'exchange': {
        const after = { ...state, [input.key]: input.value };
        return told(after, output, valuesOf(after, input.keys));
      }
    }
  },
};

function valuesOf(state: KvState, keys: readonly string[]): (number | null)[] {
  return keys.map((key) => state[key] ?? null);
}

/** The state if these are the values that were answered. */
function told(
  state: KvState,
  output: KvOutput | undefined,
  values: readonly (number | null)[],
): KvState | null {
  if (output === undefined) return state;
  return values.every((value, i) => (output as readonly (number | null)[])[i] === value)
    ? state
    : null;
}

function conditional(
  state: KvState,
  output: KvOutput | undefined,
  { holds, after }: { readonly holds: boolean; readonly after: KvState },
): KvState | null {
  if (output !== undefined && output !== holds) return null;
  return holds ? after : state;
}
