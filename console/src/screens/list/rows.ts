/**
 * The rows of the shown page. While the reader holds them (focus in them, or something selected), changed content is shown
 * at once, and what would move rows waits.
 */
import type { ListResult, PageEvent } from 'kindred/client';
import { apply as applied } from 'kindred/client';
import { computed, onScopeDispose, shallowRef, watch } from 'vue';
import type { ApiObject } from '../../api/object.ts';
import { fullNameOf } from '../../api/object.ts';

const markFor = 5_000;

/** @param came told how many objects of the page have changed, come or gone */
export function useRows(isHeld: () => boolean, came: (count: number) => void) {
  /** What the service has, and what is shown of it. */
  const latest = shallowRef<ListResult<ApiObject>>();
  const shown = shallowRef<readonly ApiObject[]>([]);
  /** Names of rows that came, went or moved since the reader holds the rows. */
  const waiting = shallowRef<ReadonlySet<string>>(new Set());
  /** Names of rows that changed within the last five seconds. */
  const changed = shallowRef<ReadonlySet<string>>(new Set());
  const timers = new Set<ReturnType<typeof setTimeout>>();

  function mark(names: readonly string[]): void {
    if (names.length === 0) return;
    changed.value = new Set([...changed.value, ...names]);
    const timer = setTimeout(() => {
      timers.delete(timer);
      const left = new Set(changed.value);
      for (const name of names) left.delete(name);
      changed.value = left;
    }, markFor);
    timers.add(timer);
  }

  function release(): void {
    shown.value = latest.value?.items ?? [];
    waiting.value = new Set();
  }

  /** Another page. */
  function replace(page: ListResult<ApiObject>): void {
    latest.value = page;
    changed.value = new Set();
    release();
  }

  function apply(events: readonly PageEvent<ApiObject>[]): void {
    const moved = new Set<string>();
    const fresh = new Set<string>();
    const before = latest.value;
    for (const event of events) {
      const from = latest.value?.items ?? [];
      latest.value = applied(latest.value, event);
      if (event.type === 'BOOKMARK') continue;
      if (event.type === 'SNAPSHOT') {
        const { items } = event.object;
        const old = new Map(from.map((object) => [fullNameOf(object), object.metadata.version]));
        const now = new Set(items.map(fullNameOf));
        const stayed = [...old.keys()].filter((name) => now.has(name)).values();
        for (const object of items) {
          const name = fullNameOf(object);
          const isChanged = old.get(name) !== object.metadata.version;
          if (isChanged) fresh.add(name);
          // Where the order differs, some object that has changed is at another place among those that stayed.
          if (!old.has(name) || (stayed.next().value !== name && isChanged)) moved.add(name);
        }
        for (const name of old.keys()) if (!now.has(name)) moved.add(name);
      } else {
        for (const name of event.object.removed) moved.add(name);
        for (const { object } of event.object.inserted) {
          moved.add(fullNameOf(object));
          fresh.add(fullNameOf(object));
        }
        for (const object of event.object.updated) fresh.add(fullNameOf(object));
      }
    }
    if (latest.value === before) return;
    mark([...fresh]);
    came(fresh.union(moved).size);
    waiting.value = waiting.value.union(moved);
    if (waiting.value.size === 0 || !isHeld()) {
      release();
      return;
    }
    const now = new Map(latest.value?.items.map((object) => [fullNameOf(object), object]));
    shown.value = shown.value.map((object) => now.get(fullNameOf(object)) ?? object);
  }

  watch(isHeld, (held) => {
    if (!held) release();
  });
  onScopeDispose(() => {
    for (const timer of timers) clearTimeout(timer);
  });
  const total = computed(() => latest.value?.total);
  return {
    shown,
    total,
    changed,
    waiting: computed(() => waiting.value.size),
    replace,
    /** The same page, read again. */
    update: (page: ListResult<ApiObject>) => apply([{ type: 'SNAPSHOT', revision: page.revision ?? '', object: page }]),
    apply,
    release,
  };
}
