/**
 * Who looks at the dashboard and what they may do. It is known before any page is shown; controls that
 * somebody may not use are absent. The broker decides in any case: this only spares the refusals.
 */
import { computed, ref, shallowRef } from 'vue';
import { ApiError, get, tokenWanted } from './api';
import { asApiError } from './resource';

export interface Identity {
  readonly user_id: string;
  readonly tenant_slug: string;
  readonly role: string;
  readonly roles?: readonly string[];
  readonly acting_cluster: { readonly slug: string };
  readonly clusters: readonly { readonly cell_slug: string }[];
}

export type Capability =
  'read' | 'produce' | 'consume' | 'queueAdmin' | 'clusterAdmin' | 'operator';

const HOLDERS: Readonly<Record<Capability, readonly string[]>> = {
  read: ['read-only', 'read-write', 'admin'],
  produce: ['write-only', 'read-write', 'admin'],
  consume: ['read-write', 'admin'],
  queueAdmin: ['read-write', 'admin'],
  clusterAdmin: ['admin'],
  operator: ['admin'],
};

export const identity = shallowRef<Identity | null>(null);
/** Why nobody knows; a token that is asked for is no failure. */
export const identityError = shallowRef<ApiError | null>(null);
export const isIdentifying = ref(false);

const roles = computed(() => identity.value?.roles ?? [identity.value?.role ?? 'none']);

export const can = (capability: Capability): boolean =>
  HOLDERS[capability].some((role) => roles.value.includes(role));

let asking: Promise<void> | null = null;

/** Callers at the same time share one question. */
export function loadIdentity(): Promise<void> {
  asking ??= ask().finally(() => (asking = null));
  return asking;
}

async function ask(): Promise<void> {
  isIdentifying.value = true;
  try {
    identity.value = await get<Identity>('/auth/me');
    identityError.value = null;
  } catch (failure) {
    const error = asApiError(failure);
    identity.value = null;
    identityError.value = error.status === 401 ? null : error;
    tokenWanted.value = error.status === 401;
  } finally {
    isIdentifying.value = false;
  }
}
