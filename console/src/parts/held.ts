/** A log that is read while it grows, newest first: paused, it holds back what comes, and counts it. */
import { computed, ref, shallowRef } from 'vue';

/**
 * @param most entries that are kept
 * @param keyOf entries with the same key are kept once
 */
export function useHeldLog<E>(most: number, keyOf?: (entry: E) => string) {
  const shown = shallowRef<readonly E[]>([]);
  const held = shallowRef<readonly E[]>([]);
  const isPaused = ref(false);
  return {
    shown,
    held: computed(() => held.value.length),
    isPaused,
    /** @param news in the order in which they happened */
    add(news: readonly E[]): void {
      const known = new Set(keyOf && [...held.value, ...shown.value].map(keyOf));
      const fresh = keyOf ? news.filter((entry) => !known.has(keyOf(entry))) : news;
      const to = isPaused.value ? held : shown;
      to.value = [...fresh.toReversed(), ...to.value].slice(0, most);
    },
    clear(): void {
      shown.value = [];
      held.value = [];
    },
    pause(): void {
      isPaused.value = true;
    },
    resume(): void {
      isPaused.value = false;
      shown.value = [...held.value, ...shown.value].slice(0, most);
      held.value = [];
    },
  };
}
