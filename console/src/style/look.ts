/** Theme and density, kept in this browser. */
import { computed, ref, watch } from 'vue';

export type Theme = 'system' | 'light' | 'dark';
export type Density = 'comfortable' | 'compact';

const dark = matchMedia('(prefers-color-scheme: dark)');
const isSystemDark = ref(dark.matches);

export const theme = ref((localStorage.getItem('kindred-theme') ?? 'system') as Theme);
export const density = ref((localStorage.getItem('kindred-density') ?? 'comfortable') as Density);
/** What is seen, also while the theme is that of the system. */
export const isDark = computed(() => (theme.value === 'system' ? isSystemDark.value : theme.value === 'dark'));

/** Called once, at the start. */
export function startLook(): void {
  const show = () => {
    document.documentElement.dataset.theme = isDark.value ? 'dark' : 'light';
    document.documentElement.dataset.density = density.value;
  };
  dark.addEventListener('change', () => {
    isSystemDark.value = dark.matches;
  });
  watch(theme, (chosen) => localStorage.setItem('kindred-theme', chosen));
  watch(density, (chosen) => localStorage.setItem('kindred-density', chosen));
  watch([isDark, density], show, { immediate: true });
}
