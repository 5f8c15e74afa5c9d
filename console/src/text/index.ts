/** The texts of the console: `t` is the catalogue of the chosen language, `f` fills one of its texts. */
import { computed, shallowRef } from 'vue';
import type { Catalogue } from './en.ts';
import { en } from './en.ts';
import type { Values } from './fill.ts';
import { fill } from './fill.ts';

export type Language = 'en' | 'zh-CN';

const kept = 'kindred-language';
const catalogue = shallowRef<Catalogue>(en);

/** The language that is shown, as `html lang` and `Accept-Language` say it. */
export const language = shallowRef<Language>('en');

/** In templates `t.list.new`, in code `t.value.list.new`. */
export const t = computed(() => catalogue.value);

/** A text with its placeholders filled; numbers are written as the language does, and choose the plural. */
export function f(text: Parameters<typeof fill>[0], values: Values): string {
  return fill(text, values, language.value);
}

/** The saved choice, else what the browser prefers, else English. */
export async function startLanguage(): Promise<void> {
  const saved = localStorage.getItem(kept);
  const wanted = [saved ?? '', ...navigator.languages].find((one) => /^(en|zh)\b/.test(one)) ?? 'en';
  // What is asked for meanwhile is answered in it.
  language.value = wanted.startsWith('zh') ? 'zh-CN' : 'en';
  await show(language.value);
}

export async function chooseLanguage(chosen: Language): Promise<void> {
  localStorage.setItem(kept, chosen);
  await show(chosen);
}

async function show(chosen: Language): Promise<void> {
  catalogue.value = chosen === 'en' ? en : (await import('./zh-CN.ts')).zhCN;
  language.value = chosen;
  document.documentElement.lang = chosen;
}
