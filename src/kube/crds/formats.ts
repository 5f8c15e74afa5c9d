/** The formats of Kubernetes: those of its OpenAPI library, which are not those of JSON Schema where both have one. */
import { isIPv4, isIPv6 } from 'node:net';
import type { Format } from '../../schema/formats.ts';
import { formats as standard } from '../../schema/formats.ts';

const cost: Format['cost'] = (text) => 20 + text.length / 4;

function byTest(test: (text: string) => boolean, expected: string): Format {
  return { string: test, expected, cost };
}

function bySyntax(syntax: RegExp, expected: string): Format {
  return byTest((text) => syntax.test(text), expected);
}

const anything = byTest(() => true, '');

const hostLabel = /^[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/;

function isHostname(text: string): boolean {
  const labels = (text.endsWith('.') ? text.slice(0, -1) : text).split('.');
  return text.length <= 253 && labels.every((label) => hostLabel.test(label)) && !/^[\d.]+$/.test(text);
}

function isCidr(text: string): boolean {
  const slash = text.lastIndexOf('/');
  const [address, bits] = [text.slice(0, slash), text.slice(slash + 1)];
  if (slash < 0 || !/^(?:0|[1-9]\d{0,2})$/.test(bits)) return false;
  return isIPv4(address) ? Number(bits) <= 32 : isIPv6(address) && Number(bits) <= 128;
}

/** Luhn's sum. */
function isCardNumber(text: string): boolean {
  const digits = text.replace(/[- ]/g, '');
  if (!/^\d{12,19}$/.test(digits)) return false;
  const sum = [...digits].reverse().reduce((before, digit, i) => {
    const doubled = Number(digit) * (i % 2 === 0 ? 1 : 2);
    return before + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[- ]/g, '');
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  const sum = [...digits].reduce((before, digit, i) => before + (10 - i) * (digit === 'X' ? 10 : Number(digit)), 0);
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[- ]/g, '');
  if (!/^97[89]\d{10}$/.test(digits)) return false;
  return [...digits].reduce((before, digit, i) => before + Number(digit) * (i % 2 === 0 ? 1 : 3), 0) % 10 === 0;
}

/** An absolute URI, or an absolute path. */
function isUri(text: string): boolean {
  if (/[\s\p{Cc}]/u.test(text) || /%(?![0-9A-Fa-f]{2})/.test(text)) return false;
  if (text.startsWith('/')) return true;
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(text);
  if (!scheme) return false;
  const rest = text.slice(scheme[0].length);
  if (!rest.startsWith('//')) return true;
  const host = /^\/\/(?:[^/?#@]*@)?([^/?#]*)/.exec(rest)![1]!;
  return /^(?:\[[0-9A-Fa-f:.%]+\]|[^:[\]<>"\\^`{|}]*)(?::\d*)?$/.test(host);
}

const atom = String.raw`[A-Za-z0-9!#$%&'*+/=?^_\x60{|}~-]|[^\x00-\x7f]`;
const address = new RegExp(`^(?:${atom})+(?:\\.(?:${atom})+)*@(?:${atom}|\\.)+$`, 'u');

/** A mailbox, perhaps with a name in front. */
function isEmail(text: string): boolean {
  const named = /^(?:"[^"]*"|[^<>@"]*)\s*<([^<>]+)>$/.exec(text.trim());
  return text.length <= 1_000 && address.test(named ? named[1]! : text.trim());
}

/** As Go writes and reads it, such as `1h30m`, or with the words of other libraries, such as `3 days`. */
const goDuration = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)$/;
const wordDuration =
  /^(?:\d+\s*(?:ns|nanos?|nanoseconds?|us|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)\s*)+$/i;

const hex = '[0-9A-Fa-f]';
const uuid = (version: string, variant: string) =>
  new RegExp(`^${hex}{8}-?${hex}{4}-?${version}${hex}{3}-?${variant}${hex}{3}-?${hex}{12}$`);

const byteText = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const timeText = /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)$/i;

function isDateTime(text: string): boolean {
  return text.length > 11 && /[Tt ]/.test(text[10]!) && isDate(text.slice(0, 10)) && timeText.test(text.slice(11));
}

function isDate(text: string): boolean {
  return standard.get('date')!.string!(text);
}

const dateTime = byTest(isDateTime, '2026-01-31T13:00:00Z');
const octet = String.raw`(?:25[0-5]|2[0-4]\d|1?\d?\d)`;

/** By name; one that is not here is not checked. */
export const kubernetesFormats: ReadonlyMap<string, Format> = new Map<string, Format>([
  ['bsonobjectid', bySyntax(/^[0-9A-Fa-f]{24}$/, '507f1f77bcf86cd799439011')],
  ['byte', bySyntax(byteText, 'aGVsbG8=')],
  ['cidr', byTest(isCidr, '192.0.2.0/24')],
  ['creditcard', byTest(isCardNumber, '4111 1111 1111 1111')],
  ['date', byTest(isDate, '2026-01-31')],
  ['date-time', dateTime],
  ['datetime', dateTime],
  ['duration', byTest((text) => goDuration.test(text) || wordDuration.test(text.trim()), '1h30m')],
  ['email', byTest(isEmail, 'ada@example.com')],
  ['hexcolor', bySyntax(/^#?(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$/, '#00ff00')],
  ['hostname', byTest(isHostname, 'www.example.com')],
  ['ipv4', byTest(isIPv4, '192.0.2.1')],
  ['ipv6', byTest((text) => isIPv6(text) && !text.includes('%'), '2001:db8::1')],
  ['isbn', byTest((text) => isIsbn10(text) || isIsbn13(text), '0-306-40615-2')],
  ['isbn10', byTest(isIsbn10, '0-306-40615-2')],
  ['isbn13', byTest(isIsbn13, '978-0-306-40615-7')],
  [
    'mac',
    bySyntax(
      /^[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}(?:(?:\1[0-9A-Fa-f]{2}){2})?$/,
      '00:00:5e:00:53:01',
    ),
  ],
  ['password', anything],
  ['rgbcolor', bySyntax(new RegExp(`^rgb\\(\\s*${octet}\\s*,\\s*${octet}\\s*,\\s*${octet}\\s*\\)$`), 'rgb(0,255,0)')],
  ['ssn', bySyntax(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/, '111-22-3333')],
  ['uri', byTest(isUri, 'https://example.com/a')],
  ['uuid', bySyntax(uuid(hex, hex), '123e4567-e89b-12d3-a456-426614174000')],
  ['uuid3', bySyntax(uuid('3', hex), '123e4567-e89b-32d3-a456-426614174000')],
  ['uuid4', bySyntax(uuid('4', '[89ABab]'), '123e4567-e89b-42d3-a456-426614174000')],
  ['uuid5', bySyntax(uuid('5', '[89ABab]'), '123e4567-e89b-52d3-a456-426614174000')],
  ...(['int32', 'int64', 'float', 'double'] as const).map((name) => [name, standard.get(name)!] as const),
]);
