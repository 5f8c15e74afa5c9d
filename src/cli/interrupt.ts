/** Ctrl-C and SIGTERM for commands that end in order. */
export interface Interrupt {
  /** Aborts at the first signal: begin nothing new. */
  readonly stop: AbortSignal;
  /** Aborts at the second one: cut off what is under way. */
  readonly cut: AbortSignal;
  /** The process ends at a signal again. */
  release(): void;
}

export function onInterrupt(): Interrupt {
  const stop = new AbortController();
  const cut = new AbortController();
  const listener = () => (stop.signal.aborted ? cut : stop).abort(new Error('interrupted'));
  process.on('SIGINT', listener).on('SIGTERM', listener);
  return {
    stop: stop.signal,
    cut: cut.signal,
    release: () => void process.off('SIGINT', listener).off('SIGTERM', listener),
  };
}
