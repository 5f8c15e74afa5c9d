/** The addresses that were visited last, kept in this browser: paths and names, never content. */
import { shallowRef } from 'vue';
import type { RouteLocationNormalized } from 'vue-router';

export interface Visit {
  readonly path: string;
  readonly label: string;
  readonly type?: string;
}

const kept = 'kindred-recent';
const most = 20;

export const recent = shallowRef<readonly Visit[]>(read());

export function remember(visit: Visit): void {
  recent.value = [visit, ...recent.value.filter(({ path }) => path !== visit.path)].slice(0, most);
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
    return Array.isArray(visits) ? visits.filter((visit) => typeof visit?.path === 'string') : [];
  } catch {
    return [];
  }
}
