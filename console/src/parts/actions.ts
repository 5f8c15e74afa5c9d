/** What can be done on the shown screen: in the palette, by its key, and in the list of keys. */
import { computed, onScopeDispose, shallowReactive, shallowRef } from 'vue';

export interface Action {
  readonly label: string;
  /** One key, or two after each other: `n`, `g o`. */
  readonly keys?: string;
  readonly run: () => unknown;
}

const sources = shallowReactive(new Set<() => readonly Action[]>());

export const actions = computed(() => [...sources].flatMap((source) => source()));

/** Offers these as long as the component is there. */
export function useActions(source: () => readonly Action[]): void {
  sources.add(source);
  onScopeDispose(() => sources.delete(source));
}

const kept = 'kindred-single-keys';
export const singleKeys = shallowRef(localStorage.getItem(kept) !== 'off');

export function chooseSingleKeys(wanted: boolean): void {
  singleKeys.value = wanted;
  localStorage.setItem(kept, wanted ? 'on' : 'off');
}

const patience = 1_000;
let before = '';
let timer: ReturnType<typeof setTimeout> | undefined;

/** What takes what is typed: a checkbox does not. */
const fields = 'input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]';

/** Runs the action of a key without a modifier, outside of fields and dialogs. */
export function onSingleKey(event: KeyboardEvent): void {
  if (!singleKeys.value || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const target = event.composedPath()[0] as HTMLElement;
  if (target.closest?.(`${fields}, [role=dialog], [role=menu]`)) return;
  const pressed = before ? `${before} ${event.key}` : event.key;
  clearTimeout(timer);
  before = '';
  const found = actions.value.find(({ keys }) => keys === pressed);
  if (found) {
    event.preventDefault();
    found.run();
  } else if (actions.value.some(({ keys }) => keys?.startsWith(`${event.key} `))) {
    before = event.key;
    timer = setTimeout(() => {
      before = '';
    }, patience);
  }
}
