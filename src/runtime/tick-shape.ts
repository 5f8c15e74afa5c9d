import { executionAsyncResource } from 'node:async_hooks';

let kept: object | undefined;

/**
 * Keeps one object of `process.nextTick`, so that their hidden class lives. When a full collection finds none of them, it takes the
 * class away. V8 makes another one then, for which `nextTick` is not optimized as long as the process lives: 0.45 µs instead of 0.1,
 * four or five times for a request (docs/decisions/performance.md). To be called before the first full collection.
 */
export function keepTickShape(): void {
  if (kept) return;
  process.nextTick(() => {
    kept = executionAsyncResource();
  });
}
