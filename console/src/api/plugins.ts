/** The plugins as objects, looked at more often while one starts or stops. */
import type { ApiObject } from './object.ts';
import { useOwnObjects } from './own.ts';

export interface Plugin extends ApiObject {
  readonly spec: { readonly enabled?: boolean; readonly displayName?: string; readonly version?: string };
  readonly status?: { readonly state: string; readonly reason?: string; readonly message?: string };
}

const refreshEvery = 5_000;
/** While a plugin starts or stops. */
const soon = 500;

export const isEnabled = ({ spec }: Plugin): boolean => spec.enabled !== false;

/** What it is told to be, or has failed to become. */
function isSettled(plugin: Plugin): boolean {
  const state = plugin.status?.state;
  return state === 'FAILED' || state === (isEnabled(plugin) ? 'STARTED' : 'STOPPED');
}

export const usePlugins = () =>
  useOwnObjects<Plugin>('Plugin', (plugins) => (plugins?.every(isSettled) === false ? soon : refreshEvery));
