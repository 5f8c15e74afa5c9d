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

export interface TroubledController {
  readonly name: string;
  readonly hasFailed: boolean;
  /** Names that wait for a worker. */
  readonly waiting: number;
}

/** Controllers whose last try failed, or for which names wait; undefined for who may not read it. */
export function useTroubledControllers() {
  const mayRead = useCan({ verb: 'get', path: '/metrics' });
  const query = useQuery({
    queryKey: ['controllers'],
    enabled: computed(() => mayRead.value === true),
    queryFn: async ({ signal }) => {
      const response = await send('/metrics', { signal });
      return response.ok ? troubled(await response.text()) : undefined;
    },
    refetchInterval: refreshUnlessRefused,
    retry: false,
  });
  return query.data;
}

function troubled(text: string): TroubledController[] {
  const measured = (metric: string, labels: string) => {
    const pattern = new RegExp(`^${metric}\\{controller="([^"]*)"${labels}\\} (\\S+)$`, 'gm');
    return new Map([...text.matchAll(pattern)].map(([, name, value]) => [name!, Number(value)]));
  };
  const failed = measured('kindred_controller_last_error', '');
  const waiting = measured('kindred_controller_queue', ',state="waiting"');
  return [...waiting.keys()]
    .map((name) => ({ name, hasFailed: failed.has(name), waiting: waiting.get(name)! }))
    .filter((one) => one.hasFailed || one.waiting > 0);
}
