/** Short messages in the region "Notifications", and what is only heard. */
import { nextTick, shallowRef } from 'vue';

export interface Notice {
  readonly id: number;
  readonly kind: 'done' | 'failed';
  readonly text: string;
  /** Shown with its code, request id, and a button that copies them. */
  readonly error?: unknown;
}

const shown = 8_000;
let last = 0;
export const notices = shallowRef<readonly Notice[]>([]);

/** A failure stays until it is dismissed. */
export function notify(text: string, kind: Notice['kind'] = 'done'): void {
  const id = add({ kind, text });
  if (kind === 'done') setTimeout(() => dismiss(id), shown);
}

export const notifyError = (error: unknown): unknown => add({ kind: 'failed', text: '', error });

function add(notice: Omit<Notice, 'id'>): number {
  const id = ++last;
  notices.value = [...notices.value, { ...notice, id }].slice(-4);
  return id;
}

/** For who hears the page: what an action did where nothing that is read aloud has changed. */
export const announcement = shallowRef('');

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
