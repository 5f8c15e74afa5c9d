/** Whether the caller may do something: asked once for all questions of a tick (`POST /v3/can-i` with `reviews`). */
import { useQuery, useQueryClient } from '@tanstack/vue-query';
import type { MaybeRefOrGetter } from 'vue';
import { computed, toValue } from 'vue';
import { client } from './client.ts';
import type { Review } from './review.ts';

export interface Answer {
  readonly allowed: boolean;
  readonly reason: string;
  readonly names?: readonly string[];
  readonly because: readonly {
    readonly rule: Readonly<Record<string, unknown>>;
    readonly roles: readonly string[];
    readonly binding?: string;
  }[];
}

interface Waiting {
  readonly review: Review;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

const batch = 100;
let waiting: Waiting[] = [];

export function canI(review: Review): Promise<Answer> {
  return new Promise((resolve, reject) => {
    if (waiting.push({ review, resolve, reject }) === 1) queueMicrotask(flush);
  });
}

async function flush(): Promise<void> {
  const asked = waiting;
  waiting = [];
  for (let at = 0; at < asked.length; at += batch) {
    const part = asked.slice(at, at + batch);
    try {
      const body = { reviews: part.map(({ review }) => review) };
      const { answers } = await client.request<{ answers: Answer[] }>('POST', '/v3/can-i', { body });
      part.forEach(({ resolve }, index) => void resolve(answers[index]!));
    } catch (error) {
      for (const { reject } of part) reject(error);
    }
  }
}

const askAgainEvery = 5_000;

/** Undefined until it is known: a request that fails is repeated. While the service is away, the last answer stays. */
export function useCan(review: MaybeRefOrGetter<Review>) {
  const asked = useQuery({
    queryKey: computed(() => ['can', toValue(review)]),
    queryFn: () => canI(toValue(review)),
    staleTime: 30_000,
    refetchInterval: ({ state }) => (state.status === 'error' ? askAgainEvery : false),
  });
  return computed(() => asked.data.value?.allowed);
}

/** After a refusal: what the caller may do has changed. */
export function useForgetRights() {
  const queries = useQueryClient();
  return () => {
    void queries.invalidateQueries({ queryKey: ['can'] });
    void queries.invalidateQueries({ queryKey: ['models'] });
    void queries.invalidateQueries({ queryKey: ['model'] });
  };
}
