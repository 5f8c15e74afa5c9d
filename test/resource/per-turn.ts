/** What is counted in each turn of the event loop. */
export function perTurn(): { readonly counts: number[]; count(): void; stop(): void } {
  const counts = [0];
  let immediate: NodeJS.Immediate;
  const next = () => {
    immediate = setImmediate(() => {
      counts.push(0);
      next();
    });
  };
  next();
  return {
    counts,
    count: () => counts[counts.length - 1]!++,
    stop: () => clearImmediate(immediate),
  };
}
