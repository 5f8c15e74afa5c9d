/**
 * Processor time, and how much more of it the machine counts for the same work than usual. Bounds of tests are
 * milliseconds of a machine with nothing else to do; programs beside this one take caches and clock speed from it, and
 * some machines are slower, so a test that goes beyond its bound compares with the bound times `slowness()`.
 */

/** Milliseconds of processor time that this thread has used. */
export function threadTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

const known = JSON.stringify(
  Array.from({ length: 3_000 }, (_, i) => ({ name: `object ${i}`, values: [i, i * 2, `text ${i}`] })),
);
const rounds = 20;
/** Milliseconds of processor time for all rounds on a machine of 2026 with nothing else to do. */
const usualTime = 12;

/** A machine that takes longer than this many times as long is not allowed for. */
const mostSlowness = 3;

/** How many times as long as usual the processor takes at the moment; at least 1. */
export function slowness(): number {
  const times = Array.from({ length: 3 }, () => {
    const start = threadTime();
    for (let i = 0; i < rounds; i++) JSON.stringify(JSON.parse(known));
    return threadTime() - start;
  });
  return Math.min(mostSlowness, Math.max(1, times.toSorted((a, b) => a - b)[1]! / usualTime));
}
