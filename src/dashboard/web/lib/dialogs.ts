/** Toasts and confirmations: one host each, asked from anywhere. */
import { ref, shallowRef } from 'vue';
import { asApiError } from './resource';

export interface Toast {
  readonly id: number;
  readonly kind: 'done' | 'failed';
  readonly text: string;
}

export const toasts = ref<Toast[]>([]);
let ids = 0;

/** The topmost last: what stands outside of it is covered, and cannot be used. */
export const openDialogs = shallowRef<readonly HTMLDialogElement[]>([]);

export function toast(text: string, kind: Toast['kind'] = 'done'): void {
  const id = (ids += 1);
  toasts.value = [...toasts.value.slice(-3), { id, kind, text }];
  setTimeout(() => dismiss(id), kind === 'done' ? 4_000 : 9_000);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

/** Runs an action; says how it ended. True when it worked. */
export async function attempt(action: () => Promise<string>): Promise<boolean> {
  try {
    toast(await action());
    return true;
  } catch (failure) {
    toast(asApiError(failure).message, 'failed');
    return false;
  }
}

export interface Question {
  readonly title: string;
  readonly text: string;
  readonly action: string;
  readonly isDanger?: boolean;
  /** Must be typed before it can be done. */
  readonly typed?: string;
}

export interface OpenQuestion extends Question {
  answer(yes: boolean): void;
}

export const question = shallowRef<OpenQuestion | null>(null);

export function confirm(asked: Question): Promise<boolean> {
  return new Promise((resolve) => {
    question.value = {
      ...asked,
      answer: (yes) => {
        question.value = null;
        resolve(yes);
      },
    };
  });
}
