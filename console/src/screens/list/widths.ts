/** The widths of columns that somebody chose, kept in this browser for each model. */
import { computed, ref, toValue } from 'vue';

type Widths = Record<string, number>;

export function useWidths(type: () => string) {
  const key = () => `kindred-widths:${toValue(type)}`;
  const kept = ref<Widths>(read(key()));
  return {
    widths: computed(() => kept.value),
    setWidth(path: string, width: number | undefined): void {
      const { [path]: _, ...others } = kept.value;
      kept.value = width === undefined ? others : { ...others, [path]: width };
      localStorage.setItem(key(), JSON.stringify(kept.value));
    },
  };
}

function read(key: string): Widths {
  try {
    return JSON.parse(localStorage.getItem(key) ?? '{}') as Widths;
  } catch {
    return {};
  }
}
