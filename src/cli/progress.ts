import type { Io } from './io.ts';

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

type Console = Pick<Io, 'stderr'>;

/** Milliseconds between two lines where there is no terminal. */
const lineInterval = 5_000;
/** Milliseconds between two drawings of a bar. */
const drawInterval = 50;
/** Characters. */
const barWidth = 40;

/**
 * The title is shown when there is something to show: work that is refused at once has not begun.
 * @param total what `done` runs to; undefined when nobody knows
 */
export function startProgress(
  io: Console,
  title: string,
  total: number | undefined,
  now: () => number = Date.now,
): Progress {
  let shown: Progress | undefined;
  const begun = () => {
    shown ??= io.stderr.isTTY ? bar(io, title, total, now) : plainLines(io, title, now);
    return shown;
  };
  return {
    update: (done, text) => begun().update(done, text),
    notice: (text) => begun().notice(text),
    stop: (text) => begun().stop(text),
    abort: (text) => shown?.abort(text),
  };
}

/** One line that is drawn again at each change; the last text takes its place. */
function bar({ stderr }: Console, title: string, total: number | undefined, now: () => number): Progress {
  let part = 0;
  let drawn = Number.NEGATIVE_INFINITY;
  const show = (line: string) => stderr.write(`\r\x1b[2K${line}`);
  const draw = (text: string) => {
    drawn = now();
    const full = Math.floor(part * barWidth);
    // A line that the terminal breaks could not be drawn over.
    show(`${'█'.repeat(full)}${'░'.repeat(barWidth - full)} ${text}`.slice(0, (stderr.columns ?? 80) - 1));
  };
  stderr.write(`${title}\n`);
  draw('');
  const end = (text: string) => void show(`${text}\n`);
  return {
    update(done, text) {
      if (total) part = Math.min(1, done / total);
      if (now() - drawn >= drawInterval) draw(text);
    },
    notice: draw,
    stop: end,
    abort: end,
  };
}

function plainLines(io: Console, title: string, now: () => number): Progress {
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
