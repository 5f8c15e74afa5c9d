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

function readable(stderr: Output): DestinationStream {
  return {
    write(line) {
      const { time, level, msg, pid, hostname, err, ...members } = JSON.parse(line) as Record<string, unknown>;
      const rest = Object.entries({
        ...members,
        ...(err !== undefined && { error: (err as { message?: unknown }).message }),
      })
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
      const clock = new Date(Number(time)).toTimeString().slice(0, 8);
      stderr.write(
        `${clock} ${(levelNames[Number(level)] ?? String(level)).padEnd(5)} ${String(msg)}${rest.join('')}\n`,
      );
    },
  };
}
