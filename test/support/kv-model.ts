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
  | { readonly kind: 'remove'; readonly key: string };

/** Values by key (null = absent), a sum, or whether a condition held. */
export type KvOutput = readonly (number | null)[] | number | boolean;

export type KvState = Readonly<Record<string, number>>;
export type KvHistory = readonly Operation<KvInput, KvOutput>[];

export const KV_MODEL: Model<KvState, KvInput, KvOutput> = {
  initial: {},
  keyOf: (state) => JSON.stringify(Object.entries(state).sort(([a], [b]) => (a < b ? -1 : 1))),
  step(state, input, output) {
    switch (input.kind) {
      case 'read': {
        if (output === undefined) return state;
        const values = output as readonly (number | null)[];
        const isSo = input.keys.every((key, i) => (state[key] ?? null) === values[i]);
        return isSo ? state : null;
      }
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
    }
  },
};

function conditional(
  state: KvState,
  output: KvOutput | undefined,
  { holds, after }: { readonly holds: boolean; readonly after: KvState },
): KvState | null {
  if (output !== undefined && output !== holds) return null;
  return holds ? after : state;
}
