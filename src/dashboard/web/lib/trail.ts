/** Pages of a list that is read on from a key: where each began, so that one can go back. */
import { computed, ref, type ComputedRef } from 'vue';

export interface Trail {
  /** The key the page shown starts after; '' on the first. */
  readonly after: ComputedRef<string>;
  readonly isFirst: ComputedRef<boolean>;
  restart(): void;
  forward(next: string): void;
  back(): void;
}

/** `changed` is called after every step. */
export function useTrail(changed: () => void): Trail {
  const starts = ref<string[]>(['']);
  const move = (to: string[]): void => {
    starts.value = to;
    changed();
  };
  return {
    after: computed(() => starts.value.at(-1) ?? ''),
    isFirst: computed(() => starts.value.length <= 1),
    restart: () => move(['']),
    forward: (next) => move([...starts.value, next]),
    back: () => move(starts.value.slice(0, -1)),
  };
}
