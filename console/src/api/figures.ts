/** Figures of the process that answers, as far as six hours back (`GET /v3/metrics`). */
import { keepPreviousData, useQuery } from '@tanstack/vue-query';
import type { MaybeRefOrGetter } from 'vue';
import { computed, toValue } from 'vue';
import { useCan } from './can.ts';
import { client, send } from './client.ts';
import { refreshUnlessRefused } from './operator.ts';

export const figuresPath = '/v3/metrics';
export const ranges = ['15m', '1h', '6h'] as const;
export type Range = (typeof ranges)[number];

interface Quantiles {
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

export interface Sample {
  readonly time: string | number;
  readonly revision: number;
  /** Since the sample before. */
  readonly writes: number;
  /** By class of status: `2xx`. */
  readonly requests: Readonly<Record<string, number>>;
  /** Only when there was one. */
  readonly commit?: Quantiles;
  readonly eventLoop: Quantiles;
  /** Objects that were read from memory, and from the store. */
  readonly cache: { readonly hits: number; readonly misses: number };
  readonly heap: number;
  readonly rss: number;
  readonly watches: number;
}

export interface Figures {
  /** Milliseconds. */
  readonly interval: number;
  readonly samples: readonly Sample[];
}

/** Read again every five seconds, for who may see them; not in a tab that is out of sight. */
export function useFigures(range: MaybeRefOrGetter<Range>) {
  const mayRead = useCan({ verb: 'get', path: figuresPath });
  return useQuery({
    enabled: computed(() => mayRead.value === true),
    queryKey: computed(() => ['figures', toValue(range)]),
    queryFn: ({ signal }) => client.request<Figures>('GET', figuresPath, { query: { range: toValue(range) }, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: refreshUnlessRefused,
    retry: false,
  });
}

/** Names of controllers whose last try failed, as the measurements for Prometheus say; none for who may not read them. */
export function useFailingControllers() {
  const mayRead = useCan({ verb: 'get', path: '/metrics' });
  const query = useQuery({
    queryKey: ['failing-controllers'],
    enabled: computed(() => mayRead.value === true),
    queryFn: async ({ signal }) => {
      const response = await send('/metrics', { signal });
      return response.ok ? failing(await response.text()) : [];
    },
    refetchInterval: refreshUnlessRefused,
    retry: false,
  });
  return computed(() => query.data.value ?? []);
}

function failing(text: string): string[] {
  return [...text.matchAll(/^kindred_controller_last_error\{(?:[^}]*,)?controller="([^"]*)"[^}]*\} (\S+)$/gm)].flatMap(
    ([, name, value]) => (Number(value) > 0 ? [name!] : []),
  );
}
