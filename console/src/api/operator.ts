/** What the service says of itself to those who operate it: options, about, one plugin. Each replica speaks for itself. */
import { useQuery } from '@tanstack/vue-query';
import type { MaybeRefOrGetter } from 'vue';
import { computed, toValue } from 'vue';
import { client } from './client.ts';

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
  }[];
  readonly controllers: readonly Controller[];
  readonly config?: unknown;
  /** Oldest first. */
  readonly log: readonly LogLine[];
}

export const pluginPath = (name: string) => `/v3/plugins/${encodeURIComponent(name)}`;

const refreshEvery = 5_000;

/** Read again every five seconds while it is shown. */
export function useOperator<T>(path: MaybeRefOrGetter<string>) {
  return useQuery({
    queryKey: computed(() => ['operator', toValue(path)]),
    queryFn: ({ signal }) => client.request<T>('GET', toValue(path), { signal }),
    refetchInterval: refreshEvery,
    retry: false,
  });
}
