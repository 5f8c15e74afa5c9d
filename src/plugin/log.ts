/** The newest lines that a plugin, and the service about it, has logged: for who looks after it without the files of the machine. */
import { messageOf } from '../errors.ts';
import type { Logger } from '../runtime/logger.ts';

export interface LogLine {
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly error?: string;
}

const mostLines = 500;
const lineLimit = 2_000;

export class PluginLog {
  readonly #now: () => number;
  readonly #lines: LogLine[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Oldest first. */
  get lines(): readonly LogLine[] {
    return this.#lines;
  }

  /** A logger whose lines are kept too. */
  around(logger: Logger): Logger {
    const write =
      (level: LogLine['level']) =>
      (details: object, message: string): void => {
        this.#keep(level, details, message);
        logger[level](details, message);
      };
    return {
      debug: write('debug'),
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
      child: (bindings) => this.around(logger.child(bindings)),
    };
  }

  #keep(level: LogLine['level'], details: object, message: string): void {
    const { err } = details as { err?: unknown };
    const error = err === undefined ? {} : { error: cut(messageOf(err)) };
    this.#lines.push({ time: this.#now(), level, message: cut(message), ...error });
    if (this.#lines.length > mostLines) this.#lines.shift();
  }
}

function cut(text: string): string {
  return text.length <= lineLimit ? text : `${text.slice(0, lineLimit).toWellFormed()}…`;
}
