/** The cache of answers. */
import { QueryClient } from '@tanstack/vue-query';
import { problemOf } from './errors.ts';

const attempts = 5;

/** Reads that the service puts off are asked again when it says so; nothing else is. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (count, error) => count < attempts && ['NotReady', 'TooManyRequests'].includes(problemOf(error).code),
      retryDelay: (count, error) => (problemOf(error).retryAfter ?? Math.min(8, 2 ** count)) * 1_000,
      networkMode: 'always',
      gcTime: 300_000,
    },
    mutations: { networkMode: 'always' },
  },
});
