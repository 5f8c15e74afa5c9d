import { fileURLToPath } from 'node:url';
import type { DestinationStream, Logger } from 'pino';
import { pino } from 'pino';
import type { Output } from './io.ts';
import { printable } from './table.ts';

/** The log of a service: JSON lines on stderr, readable lines on a terminal. */
export function openLog(stderr: Output, level: string): Logger {
  // An error says of its cause what helps; the serializer of the name `err` would put the text of the cause behind it once more.
  const serializers = { err: pino.stdSerializers.errWithCause };
  return pino({ level, serializers }, stderr.isTTY ? readable(stderr) : pino.destination({ dest: 2, sync: true }));
}

const levelNames: Readonly<Record<number, string>> = {
  10: 'TRACE',
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
};
const errorLevel = 50;

/** An error as pino writes it. */
interface Logged {
  readonly message?: unknown;
  readonly stack?: unknown;
  readonly cause?: Logged;
}

function readable(stderr: Output): DestinationStream {
  return {
    write(line) {
      const { time, level, msg, pid, hostname, err, ...members } = JSON.parse(line) as Record<string, unknown>;
      const error = reasonOf((err ?? {}) as Logged);
      const rest = Object.entries({ ...members, ...(error !== '' && { error }) })
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
      const clock = new Date(Number(time)).toTimeString().slice(0, 8);
      // What fails in a plugin and is tried again is a warning, and as much to be looked for as an error.
      const isOfPlugin = members.plugin !== undefined;
      const trace = isOfPlugin || Number(level) >= errorLevel ? traceOf((err ?? {}) as Logged, isOfPlugin) : [];
      const first = `${clock} ${(levelNames[Number(level)] ?? String(level)).padEnd(5)} ${String(msg)}${rest.join('')}`;
      stderr.write([first, ...trace.map((text) => `    ${text}`)].map((text) => `${printable(text)}\n`).join(''));
    },
  };
}

/** The message, and those of the causes that it does not tell already. */
function reasonOf({ message, cause }: Logged): string {
  const text = message === undefined ? '' : String(message);
  const deeper = cause ? reasonOf(cause) : '';
  return deeper === '' || text.includes(deeper.split('\n')[0]!) ? text : `${text}: ${deeper}`;
}

function traceOf({ stack, cause }: Logged, isOfPlugin: boolean): string[] {
  const frames = typeof stack === 'string' ? framesOf(stack, isOfPlugin) : [];
  const deeper = cause ? traceOf(cause, isOfPlugin) : [];
  return deeper.length > 0 ? [...frames, `caused by: ${String(cause!.message).split('\n')[0]}`, ...deeper] : frames;
}

/** Where this program's own modules lie, as stacks name it. */
const own = [fileURLToPath(new URL('..', import.meta.url)), new URL('..', import.meta.url).href];

/**
 * The lines of a stack that help who wrote a plugin: the plugin's own frames, and the first of this program on either side, by
 * which a call from or into the service is seen. When no other code took part, all of them: that is a fault of the service,
 * unless it only refuses what a plugin is, which its message says better.
 */
export function framesOf(stack: string, isOfPlugin: boolean): string[] {
  const lines = stack.split('\n').map((line) => line.trim());
  const frames = lines.filter((line) => line.startsWith('at ') && !line.includes('node:'));
  const isOwn = (frame: string) => own.some((root) => frame.includes(root));
  const start = frames.findIndex((frame) => !isOwn(frame));
  if (start < 0) return isOfPlugin ? [] : frames;
  const end = frames.findIndex((frame, i) => i > start && isOwn(frame));
  const before = frames.slice(Math.max(0, start - 1), start);
  const after = before.length === 0 && end >= 0 ? [frames[end]!] : [];
  return [...before, ...frames.slice(start, end < 0 ? undefined : end), ...after];
}
