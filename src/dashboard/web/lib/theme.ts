/** Light, dark, or what the system says; kept in this browser. */
import { ref } from 'vue';

export type Theme = 'system' | 'light' | 'dark';
export const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

const KEY = 'queen.theme';
const dark = matchMedia('(prefers-color-scheme: dark)');

export const theme = ref<Theme>('system');
export const isDark = ref(false);

export function setTheme(next: Theme): void {
  theme.value = next;
  localStorage.setItem(KEY, next);
  apply();
}

export function startTheme(): void {
  const kept = localStorage.getItem(KEY);
  theme.value = THEMES.find((one) => one === kept) ?? 'system';
  dark.addEventListener('change', apply);
  apply();
}

function apply(): void {
  isDark.value = theme.value === 'dark' || (theme.value === 'system' && dark.matches);
  document.documentElement.dataset['theme'] = isDark.value ? 'dark' : 'light';
}
