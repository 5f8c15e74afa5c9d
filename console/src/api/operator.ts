/** What the service says of itself to those who operate it: options, about, one plugin. Each replica speaks for itself. */
import { useQuery } from '@tanstack/vue-query';
import type { MaybeRefOrGetter } from 'vue';
import { computed, toValue } from 'vue';
import { useCan } from './can.ts';
import { client } from './client.ts';
import { problemOf } from './errors.ts';

export interface Option {
  readonly name: string;
  readonly value?: unknown;
  readonly source: 'default' | 'code' | 'flag' | 'environment' | 'file';
  readonly default?: unknown;
}

export interface About {
  readonly version: string;
  readonly node: string;
  readonly platform: string;
  readonly replica: string;
  /** Seconds. */
  readonly uptime: number;
  readonly authentication: boolean;
  readonly database: Readonly<Record<string, string | number>>;
  readonly shared: boolean;
  readonly revision: number;
  readonly readiness: {
    readonly status: string;
    readonly models?: readonly { readonly group: string; readonly kind: string; readonly state: string }[];
    readonly plugins?: readonly { readonly name: string; readonly state: string }[];
  };
}

export interface Controller {
  readonly id: string;
  /** `plural.group` of the model that it reconciles, then of those that it watches. */
  readonly models: readonly string[];
  /** It runs in the process that answers. */
  readonly leading: boolean;
  readonly queueDepth: number;
  readonly delayed: number;
  readonly running: number;
  readonly calls: Readonly<Record<string, number>>;
  readonly retries: number;
  readonly lastError?: { readonly name: string; readonly message: string; readonly time: string };
}

export interface LogLine {
  readonly time: string;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly error?: string;
}

export interface PluginRoute {
  readonly method: string;
  readonly path: string;
  readonly description?: string;
}

export interface PluginDetails {
  readonly place: string;
  readonly dependencies: readonly { readonly name: string; readonly range: string; readonly state?: string }[];
  readonly dependents: readonly string[];
  readonly models: readonly string[];
  readonly routes: readonly PluginRoute[];
  readonly objects: readonly {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly type?: string;
    readonly file: string;
    readonly line: number;
    /** As the process that answers wrote it; absent where another one did. */
    readonly version?: number;
    readonly generation?: number;
  }[];
  readonly controllers: readonly Controller[];
  readonly config?: unknown;
  /** Oldest first. */
  readonly log: readonly LogLine[];
}

export const pluginPath = (name: string) => `/v3/plugins/${encodeURIComponent(name)}`;

const refreshEvery = 5_000;

export const operatorQuery = <T>(path: string) => ({
  queryKey: ['operator', path],
  queryFn: ({ signal }: { signal: AbortSignal }) => client.request<T>('GET', path, { signal }),
  refetchInterval: refreshUnlessRefused,
  retry: false,
});

/** Who may not see something does not ask for it again and again. */
export function refreshUnlessRefused({ state }: { state: { error: unknown } }): number | false {
  return state.error && problemOf(state.error).code === 'Forbidden' ? false : refreshEvery;
}

/**
 * Read again every five seconds while it is shown.
 * @param optional asked for only by who may see it
 */
export function useOperator<T>(path: MaybeRefOrGetter<string>, { optional = false } = {}) {
  const mayRead = optional ? useCan(() => ({ verb: 'get', path: toValue(path) })) : undefined;
  return useQuery({
    queryKey: computed(() => operatorQuery(toValue(path)).queryKey),
    queryFn: (context) => operatorQuery<T>(toValue(path)).queryFn(context),
    enabled: computed(() => mayRead?.value ?? !optional),
    refetchInterval: refreshUnlessRefused,
    retry: false,
  });
}
