/** Points in time and durations, in nanoseconds. */
import { fail } from './frame.ts';

const second = 1_000_000_000n;
/** Years 1 to 9999. */
const [earliest, latest] = [-62_135_596_800n * second, 253_402_300_800n * second - 1n];
const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n];

export class Timestamp {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    if (nanos < earliest || nanos > latest) fail('timestamp overflow');
    this.nanos = nanos;
  }

  toString(): string {
    const seconds = floorDivide(this.nanos, second);
    const rest = this.nanos - seconds * second;
    return `${new Date(Number(seconds) * 1000).toISOString().slice(0, 19)}${fraction(rest)}Z`;
  }

  /** @param zone a name such as `Europe/Berlin`, or `+02:00` */
  part(name: TimePart, zone?: string): bigint {
    if (name === 'milliseconds') return (((this.nanos % second) + second) % second) / 1_000_000n;
    const at = new Date(Number(floorDivide(this.nanos, 1_000_000n)));
    const local = zone === undefined ? at : inZone(at, zone);
    return BigInt(parts[name](local));
  }
}

const parts = {
  fullYear: (at: Date) => at.getUTCFullYear(),
  month: (at: Date) => at.getUTCMonth(),
  date: (at: Date) => at.getUTCDate(),
  dayOfMonth: (at: Date) => at.getUTCDate() - 1,
  dayOfWeek: (at: Date) => at.getUTCDay(),
  dayOfYear: (at: Date) =>
    (Date.UTC(2000, at.getUTCMonth(), at.getUTCDate()) - Date.UTC(2000, 0, 1)) / 86_400_000 -
    (at.getUTCMonth() > 1 && !isLeap(at.getUTCFullYear()) ? 1 : 0),
  hours: (at: Date) => at.getUTCHours(),
  minutes: (at: Date) => at.getUTCMinutes(),
  seconds: (at: Date) => at.getUTCSeconds(),
  milliseconds: (at: Date) => at.getUTCMilliseconds(),
};

export type TimePart = keyof typeof parts;

function isLeap(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}

/** A date whose UTC members are those of the zone. */
function inZone(at: Date, zone: string): Date {
  const offset = /^([+-]?)(\d\d):(\d\d)$/.exec(zone);
  if (offset) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3]);
    return new Date(at.getTime() + (offset[1] === '-' ? -minutes : minutes) * 60_000);
  }
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone === '' ? 'UTC' : zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
      era: 'short',
    });
    const read = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const { year, month, day, hour, minute } = read as Record<string, number>;
    const local = new Date(0);
    local.setUTCFullYear(year!, month! - 1, day!);
    local.setUTCHours(hour!, minute!, read.second, at.getUTCMilliseconds());
    return local;
  } catch {
    return fail(`unknown time zone ${zone}`);
  }
}

const timestampSyntax = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)$/;

/** RFC 3339; undefined for anything else. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = timestampSyntax.exec(text);
  if (!match) return undefined;
  const [, date, time, digits = '', zone] = match;
  const milliseconds = Date.parse(`${date}T${time}${zone!.toUpperCase()}`);
  if (Number.isNaN(milliseconds)) return undefined;
  return new Timestamp(BigInt(milliseconds) * 1_000_000n + BigInt(digits.padEnd(9, '0')));
}

export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    if (nanos < least || nanos > most) fail('duration overflow');
    this.nanos = nanos;
  }

  toString(): string {
    const size = this.nanos < 0n ? -this.nanos : this.nanos;
    return `${this.nanos < 0n ? '-' : ''}${size / second}${fraction(size % second)}s`;
  }

  /** Whole ones, towards zero. */
  in(unit: 'h' | 'm' | 's' | 'ms'): bigint {
    return this.nanos / units[unit]!;
  }
}

const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: second,
  m: 60n * second,
  h: 3_600n * second,
};

const durationSyntax = /^([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)$/;
const isoSyntax = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/;

/** Go's form, such as `1h30m` and `-1.5s`, or that of ISO 8601 without years and months; undefined for anything else. */
export function parseDuration(text: string): Duration | undefined {
  if (text.length > 100) return undefined;
  if (text === '0' || text === '+0' || text === '-0') return new Duration(0n);
  const match = durationSyntax.exec(text);
  if (!match) return parseIso(text);
  let nanos = 0n;
  for (const [, whole, digits = '', unit] of match[2]!.matchAll(/(\d*)\.?(\d*)([a-z\u00b5\u03bc]+)/g)) {
    const scale = units[unit!]!;
    nanos += BigInt(whole || '0') * scale;
    if (digits !== '') nanos += (BigInt(digits) * scale) / 10n ** BigInt(digits.length);
  }
  return new Duration(match[1] === '-' ? -nanos : nanos);
}

function parseIso(text: string): Duration | undefined {
  const match = isoSyntax.exec(text);
  if (!match || text.endsWith('T') || text === 'P') return undefined;
  const [weeks, days, hours, minutes, seconds] = match.slice(1).map((digits) => BigInt(digits ?? 0));
  return new Duration(((((weeks! * 7n + days!) * 24n + hours!) * 60n + minutes!) * 60n + seconds!) * second);
}

/** `.5`, or nothing. */
function fraction(nanos: bigint): string {
  return nanos === 0n ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`;
}

function floorDivide(a: bigint, b: bigint): bigint {
  return a >= 0n || a % b === 0n ? a / b : a / b - 1n;
}
