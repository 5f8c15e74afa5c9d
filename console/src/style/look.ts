/** Theme and density, kept in this browser. */
import { ref, watch } from 'vue';

export type Theme = 'system' | 'light' | 'dark';
export type Density = 'comfortable' | 'compact';

const dark = matchMedia('(prefers-color-scheme: dark)');

export const theme = ref((localStorage.getItem('kindred-theme') ?? 'system') as Theme);
export const density = ref((localStorage.getItem('kindred-density') ?? 'comfortable') as Density);

/** Called once, at the start. */
export function startLook(): void {
  const show = () => {
    const isDark = theme.value === 'dark' || (theme.value === 'system' && dark.matches);
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
    document.documentElement.dataset.density = density.value;
  };
  dark.addEventListener('change', show);
  watch(theme, (chosen) => localStorage.setItem('kindred-theme', chosen));
  watch(density, (chosen) => localStorage.setItem('kindred-density', chosen));
  watch([theme, density], show, { immediate: true });
}
