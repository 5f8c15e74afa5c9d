import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DestinationStream, Logger } from 'pino';
import { pino } from 'pino';
import type { Output } from './io.ts';

/** The log of a service: JSON lines on stderr, readable lines on a terminal. */
export function openLog(stderr: Output, level: string): Logger {
  return pino({ level }, stderr.isTTY ? readable(stderr) : pino.destination({ dest: 2, sync: true }));
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
}

function readable(stderr: Output): DestinationStream {
  return {
    write(line) {
      const { time, level, msg, pid, hostname, err, ...members } = JSON.parse(line) as Record<string, unknown>;
      const { message, stack } = (err ?? {}) as Logged;
      const rest = Object.entries({ ...members, ...(message !== undefined && { error: message }) })
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
      const clock = new Date(Number(time)).toTimeString().slice(0, 8);
      // What fails in a plugin and is tried again is a warning, and as much to be looked for as an error.
      const isTraced = Number(level) >= errorLevel || members.plugin !== undefined;
      const frames = isTraced && typeof stack === 'string' ? framesOf(stack) : [];
      stderr.write(
        `${clock} ${(levelNames[Number(level)] ?? String(level)).padEnd(5)} ${String(msg)}${rest.join('')}\n${frames.map((frame) => `    ${frame}\n`).join('')}`,
      );
    },
  };
}

/** Where this program's own modules lie, as stacks name it. */
const own = [dirname(import.meta.dirname), pathToFileURL(dirname(import.meta.dirname)).href];

/**
 * The lines of a stack that help who wrote a plugin: the plugin's own frames, and the first of this program on either side, by
 * which a call from or into the service is seen. All of them when no other code took part: then it is the service's fault.
 * Causes follow with theirs.
 */
export function framesOf(stack: string): string[] {
  return stack.split(/\ncaused by: /).flatMap((section, i) => {
    const [first = '', ...more] = section.split('\n');
    const frames = more.map((line) => line.trim()).filter((line) => line.startsWith('at ') && !line.includes('node:'));
    return [...(i === 0 ? [] : [`caused by: ${first}`]), ...foreignFrames(frames)];
  });
}

function foreignFrames(frames: readonly string[]): readonly string[] {
  const isOwn = (frame: string) => own.some((root) => frame.includes(`${root}/`));
  const start = frames.findIndex((frame) => !isOwn(frame));
  if (start < 0) return frames;
  const end = frames.findIndex((frame, i) => i > start && isOwn(frame));
  const foreign = frames.slice(start, end < 0 ? undefined : end);
  const before = frames.slice(Math.max(0, start - 1), start);
  const after = before.length === 0 && end >= 0 ? [frames[end]!] : [];
  return [...before, ...foreign, ...after];
}
