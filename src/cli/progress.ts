import { createRequire } from 'node:module';
import type { Io } from './io.ts';

/** For what is needed on a terminal only. */
const require = createRequire(import.meta.url);

/** How far a command is: a bar on a terminal, now and then a plain line otherwise; always on stderr. */
export interface Progress {
  /** `done` of the total given at the start; `text` says it in words. */
  update(done: number, text: string): void;
  /** Says why it does not go on for the moment. */
  notice(text: string): void;
  /** Ends it with a last line. */
  stop(text: string): void;
  /** Ends it because of a failure that is reported elsewhere; says nothing when nothing had begun. */
  abort(text: string): void;
}

const lineInterval = 5_000;

/**
 * The title is shown when there is something to show: work that is refused at once has not begun.
 * @param total what `done` runs to; undefined when nobody knows
 */
export function startProgress(
  io: Io,
  title: string,
  total: number | undefined,
  now: () => number = Date.now,
): Progress {
  let shown: Progress | undefined;
  const begun = () => {
    shown ??= io.stderr.isTTY ? bar(io, title, total) : plainLines(io, title, now);
    return shown;
  };
  return {
    update: (done, text) => begun().update(done, text),
    notice: (text) => begun().notice(text),
    stop: (text) => begun().stop(text),
    abort: (text) => shown?.abort(text),
  };
}

function bar(io: Io, title: string, total: number | undefined): Progress {
  const { progress } = require('@clack/prompts') as typeof import('@clack/prompts');
  const steps = 1000;
  const shown = progress({ max: steps, style: 'block', output: io.stderr });
  let position = 0;
  shown.start(title);
  return {
    update(done, text) {
      const next = total ? Math.min(steps, Math.floor((done / total) * steps)) : position;
      shown.advance(next - position, text);
      position = next;
    },
    notice(text) {
      shown.advance(0, text);
    },
    stop(text) {
      shown.advance(steps - position);
      shown.stop(text);
    },
    abort(text) {
      shown.error(text);
    },
  };
}

function plainLines(io: Io, title: string, now: () => number): Progress {
  const line = (text: string) => void io.stderr.write(`${text}\n`);
  const seldom = atIntervals(line, now);
  line(title);
  let isNoticed = false;
  const notice = (text: string) => {
    (isNoticed ? seldom : line)(text);
    isNoticed = true;
  };
  return { update: (_done, text) => seldom(text), notice, stop: line, abort: line };
}

/** Lets one text through every five seconds, the first after five. */
export function atIntervals(tell: (text: string) => void, now: () => number = Date.now): (text: string) => void {
  let last = now();
  return (text) => {
    if (now() - last < lineInterval) return;
    last = now();
    tell(text);
  };
}
