/** The addresses that were visited last, kept in this browser: paths and names, never content. */
import { shallowRef, watch } from 'vue';
import type { RouteLocationNormalized } from 'vue-router';
import { session } from '../api/session.ts';

export interface Visit {
  readonly path: string;
  readonly label: string;
  /** Of the model: who may no longer read it does not see its names. */
  readonly type: string;
}

const kept = 'kindred-recent';
const most = 20;

export const recent = shallowRef<readonly Visit[]>(read());

/** Somebody else may have signed in, here or in another tab. */
watch(session, () => {
  recent.value = read();
});

function remember(visit: Visit): void {
  recent.value = [visit, ...read().filter(({ path }) => path !== visit.path)].slice(0, most);
  localStorage.setItem(kept, JSON.stringify(recent.value));
}

/** Lists and objects that were opened. */
export function rememberRoute({ path, params }: RouteLocationNormalized): void {
  const { type, name } = params;
  if (typeof type === 'string' && path.startsWith('/objects/')) remember({ path, type, label: String(name ?? type) });
}

function read(): Visit[] {
  try {
    const visits: unknown = JSON.parse(localStorage.getItem(kept) ?? '[]');
    return Array.isArray(visits) ? visits.filter((visit) => typeof visit?.type === 'string') : [];
  } catch {
    return [];
  }
}
