/**
 * Data of a page: loaded once it is shown, again at the shared tick, and on demand. While a later load
 * runs or fails, what was loaded last stays on the screen with its age.
 */
import { onMounted, onUnmounted, shallowRef, type Ref } from 'vue';
import { ApiError } from './api';
import { onTick } from './ticker';

/** What is loaded, or made of what is loaded. */
type Shown<T> = Readonly<Ref<T>>;

export interface Resource<T> {
  readonly data: Shown<T | null>;
  readonly error: Shown<ApiError | null>;
  readonly isLoading: Shown<boolean>;
  /** When `data` was loaded. */
  readonly asOf: Shown<number | null>;
  reload(): Promise<void>;
}

export interface ResourceOptions {
  /** False: only on demand (paid reads). */
  readonly auto?: boolean;
  /** False: not before the first `reload`. */
  readonly first?: boolean;
}

export function useResource<T>(
  load: () => Promise<T>,
  { auto = true, first = true }: ResourceOptions = {},
): Resource<T> {
  const data = shallowRef<T | null>(null);
  const error = shallowRef<ApiError | null>(null);
  const isLoading = shallowRef(false);
  const asOf = shallowRef<number | null>(null);
  let newest = 0;

  async function reload(): Promise<void> {
    const own = (newest += 1);
    isLoading.value = true;
    try {
      const loaded = await load();
      if (own !== newest) return;
      data.value = loaded;
      error.value = null;
      asOf.value = Date.now();
    } catch (failure) {
      if (own !== newest) return;
      error.value = asApiError(failure);
    } finally {
      if (own === newest) isLoading.value = false;
    }
  }

  if (first) onMounted(() => void reload());
  if (auto && first) onUnmounted(onTick(() => void reload()));
  return { data, error, isLoading, asOf, reload };
}

export function asApiError(failure: unknown): ApiError {
  if (failure instanceof ApiError) return failure;
  return new ApiError(0, 'internal', failure instanceof Error ? failure.message : String(failure));
}
