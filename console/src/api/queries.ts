/** The cache of answers. */
import { QueryClient } from '@tanstack/vue-query';
import { isNotApplied } from '../../../src/client/retry.ts';
import { problemOf } from './errors.ts';

const attempts = 5;
const longestPause = 8;

/** Milliseconds until a read is asked again: as the service says, else longer each time. */
export function pauseBefore(count: number, error: unknown): number {
  return (problemOf(error).retryAfter ?? Math.min(longestPause, 2 ** count)) * 1_000;
}

/** Reads that the service puts off are asked again when it says so, and as often as indexes are being built; nothing else is. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry(count, error) {
        return isNotApplied(error) && (error.code !== 'TooManyRequests' || count < attempts);
      },
      retryDelay: (count, error) => pauseBefore(count, error),
      networkMode: 'always',
      gcTime: 300_000,
    },
    mutations: { networkMode: 'always' },
  },
});
