/** Short messages in the region "Notifications", and what is only heard. */
import { nextTick, ref } from 'vue';

export interface Notice {
  readonly id: number;
  readonly kind: 'done' | 'failed';
  readonly text: string;
}

const shown = 8_000;
let last = 0;
export const notices = ref<readonly Notice[]>([]);

/** A failure stays until it is dismissed. */
export function notify(text: string, kind: Notice['kind'] = 'done'): void {
  const id = ++last;
  notices.value = [...notices.value, { id, kind, text }].slice(-4);
  if (kind === 'done') setTimeout(() => dismiss(id), shown);
}

/** For who hears the page: what an action did where nothing that is read aloud has changed. */
export const announcement = ref('');

export function announce(text: string): void {
  // The same text once more is said again.
  announcement.value = '';
  void nextTick(() => {
    announcement.value = text;
  });
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}
