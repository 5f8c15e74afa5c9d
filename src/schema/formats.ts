/**
 * The formats that are checked (docs/reference/objects.md): strings as the JSON Schema Test Suite reads their RFCs, numbers as
 * the OpenAPI format registry has them. Every check takes time proportional to the text.
 */
export interface Format {
  readonly string?: (text: string) => boolean;
  readonly number?: (value: number) => boolean;
  /** What a text takes at most, in steps of about twenty nanoseconds. */
  readonly cost: (text: string) => number;
  /** For messages, in words and by example. */
  readonly expected: string;
}

/** So much for a text, and a quarter of a step for each character. */
function atLeast(steps: number): Format['cost'] {
  return (text) => steps + text.length / 4;
}

/** Labels in Punycode are decoded and looked up, character by character. */
function hostCost(text: string): number {
  return 50 + (text.includes('--') ? Math.min(text.length, 254) * 10 : 0);
}

const dateSyntax = /^(\d{4})-(\d\d)-(\d\d)$/;
const timeSyntax = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** RFC 3339 full-date. */
function isDate(text: string): boolean {
  const parts = dateSyntax.exec(text);
  if (!parts) return false;
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const length = month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  return month >= 1 && month <= 12 && day >= 1 && day <= length;
}

/** RFC 3339 full-time; a leap second only where it is 23:59:60 in UTC. */
function isTime(text: string): boolean {
  const parts = timeSyntax.exec(text);
  if (!parts) return false;
  const [hour, minute, second] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  const [zoneHour, zoneMinute] = [Number(parts[5] ?? 0), Number(parts[6] ?? 0)];
  if (hour > 23 || minute > 59 || second > 60 || zoneHour > 23 || zoneMinute > 59) return false;
  if (second < 60) return true;
  const offset = (zoneHour * 60 + zoneMinute) * (parts[4] === '-' ? -1 : 1);
  return (((hour * 60 + minute - offset) % 1440) + 1440) % 1440 === 1439;
}

function isDateTime(text: string): boolean {
  return (text[10] === 'T' || text[10] === 't') && isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

/** RFC 3339, appendix A. */
const durationSyntax =
  /^P(?:\d+W|(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)(?:T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))?|T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))$/;

const atomSyntax = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+$/;
const quotedSyntax = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"$/;

/** RFC 5321 mailbox, local part at most 64 characters. */
function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  if (at < 1 || at > 64 || text.length > 254) return false;
  const local = text.slice(0, at);
  const domain = text.slice(at + 1);
  const localIsWell = quotedSyntax.test(local) || local.split('.').every((atom) => atomSyntax.test(atom));
  if (!localIsWell) return false;
  if (!domain.startsWith('[')) return isHostname(domain);
  if (!domain.endsWith(']')) return false;
  const literal = domain.slice(1, -1);
  return /^IPv6:/i.test(literal) ? isIpv6(literal.slice(5)) : isIpv4(literal);
}

const labelSyntax = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/;

/** RFC 1123, section 2.1; labels with `xn--` must be valid A-labels (RFC 5890). */
function isHostname(text: string): boolean {
  if (text.length > 253) return false;
  return text.split('.').every((label) => {
    if (label.length > 63 || !labelSyntax.test(label)) return false;
    if (label[2] !== '-' || label[3] !== '-') return true;
    return /^xn--/i.test(label) && isALabel(label.toLowerCase());
  });
}

/** RFC 5891: the label decodes to what RFC 5892 permits. */
function isALabel(label: string): boolean {
  const points = decodePunycode(label.slice(4));
  return points?.some((point) => point > 0x7f) === true && isULabel(points);
}

/** RFC 3492, section 6.2; undefined when malformed. */
function decodePunycode(text: string): number[] | undefined {
  const delimiter = text.lastIndexOf('-');
  const output = delimiter > 0 ? Array.from(text.slice(0, delimiter), (one) => one.charCodeAt(0)) : [];
  let [n, i, bias] = [128, 0, 72];
  for (let at = delimiter > 0 ? delimiter + 1 : 0; at < text.length; ) {
    const before = i;
    for (let weight = 1, k = 36; ; k += 36) {
      const digit = at < text.length ? Number.parseInt(text[at++]!, 36) : Number.NaN;
      if (Number.isNaN(digit)) return undefined;
      // Base 36 counts 0-9 first, Punycode a-z first.
      const value = digit < 10 ? digit + 26 : digit - 10;
      i += value * weight;
      if (i > 0x7fffffff) return undefined;
      const threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
      if (value < threshold) break;
      weight *= 36 - threshold;
    }
    const length = output.length + 1;
    let delta = Math.floor((i - before) / (before === 0 ? 700 : 2));
    delta += Math.floor(delta / length);
    let k = 0;
    for (; delta > 455; k += 36) delta = Math.floor(delta / 35);
    bias = k + Math.floor((36 * delta) / (delta + 38));
    n += Math.floor(i / length);
    i %= length;
    if (n > 0x10ffff || (n >= 0xd800 && n <= 0xdfff)) return undefined;
    output.splice(i++, 0, n);
  }
  return output;
}

/** RFC 5892, section 2.6 and appendix A. */
const disallowed = new Set([0x0640, 0x07fa, 0x302e, 0x302f, 0x3031, 0x3032, 0x3033, 0x3034, 0x3035, 0x303b]);
const permitted = new Set([0xdf, 0x3c2, 0x6fd, 0x6fe, 0xf0b, 0x3007]);
/** Code points of the canonical combining class 9; JavaScript knows no property for it. */
const viramas = new Set([
  0x94d, 0x9cd, 0xa4d, 0xacd, 0xb4d, 0xbcd, 0xc4d, 0xccd, 0xd3b, 0xd3c, 0xd4d, 0xdca, 0xe3a, 0xeba, 0xf84, 0x1039,
  0x103a, 0x1714, 0x1715, 0x1734, 0x17d2, 0x1a60, 0x1b44, 0x1baa, 0x1bab, 0x1bf2, 0x1bf3, 0x2d7f, 0xa806, 0xa82c,
  0xa8c4, 0xa953, 0xa9c0, 0xaaf6, 0xabed, 0x10a3f, 0x11046, 0x11070, 0x1107f, 0x110b9, 0x11133, 0x11134, 0x111c0,
  0x11235, 0x112ea, 0x1134d, 0x11442, 0x114c2, 0x115bf, 0x1163f, 0x116b6, 0x1172b, 0x11839, 0x1193d, 0x1193e, 0x119e0,
  0x11a34, 0x11a47, 0x11a99, 0x11c3f, 0x11d44, 0x11d45, 0x11d97, 0x11f41, 0x11f42,
]);
const letterOrDigit = /^[\p{Ll}\p{Lo}\p{Lm}\p{Mn}\p{Mc}\p{Nd}-]$/u;
const joining = /^[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}\p{Script=Mandaic}\p{Script=Mongolian}]$/u;

function isULabel(points: readonly number[]): boolean {
  const characters = points.map((point) => String.fromCodePoint(point));
  if (/^\p{M}/u.test(characters[0]!) || characters[0] === '-' || characters.at(-1) === '-') return false;
  if (characters[2] === '-' && characters[3] === '-') return false;
  const digits = new Set(points.filter(isArabicDigit).map((point) => point >= 0x6f0));
  if (digits.size > 1) return false;
  return points.every((point, i) => {
    const [before, character, after] = [characters[i - 1] ?? '', characters[i]!, characters[i + 1] ?? ''];
    switch (point) {
      case 0xb7:
        return before === 'l' && after === 'l';
      case 0x375:
        return /^\p{Script=Greek}/u.test(after);
      case 0x5f3:
      case 0x5f4:
        return /^\p{Script=Hebrew}/u.test(before);
      case 0x30fb:
        return characters.some((one) => /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u.test(one));
      case 0x200c:
        return viramas.has(points[i - 1] ?? 0) || (joining.test(before) && joining.test(after));
      case 0x200d:
        return viramas.has(points[i - 1] ?? 0);
    }
    if (permitted.has(point)) return true;
    if (disallowed.has(point) || !letterOrDigit.test(character)) return false;
    return character.normalize('NFKC').toLowerCase().normalize('NFKC') === character;
  });
}

function isArabicDigit(point: number): boolean {
  return (point >= 0x660 && point <= 0x669) || (point >= 0x6f0 && point <= 0x6f9);
}

const ipv4Syntax = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

function isIpv4(text: string): boolean {
  return ipv4Syntax.test(text);
}

/** RFC 4291, section 2.2; no zone. */
function isIpv6(text: string): boolean {
  if (text.length > 45) return false;
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const groups = halves.map((half) => (half === '' ? [] : half.split(':')));
  const last = groups.at(-1)!;
  let count = groups[0]!.length + (groups[1]?.length ?? 0);
  if (last.at(-1)?.includes('.')) {
    if (!isIpv4(last.pop()!)) return false;
    count++;
  }
  if (!groups.flat().every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))) return false;
  return halves.length === 2 ? count < 8 : count === 8;
}

const uriSyntax = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s;
const encoded = "(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})";
const userSyntax = new RegExp(`^(?:${encoded}|:)*$`);
const registeredSyntax = new RegExp(`^${encoded}*$`);
const pathSyntax = new RegExp(`^(?:${encoded}|[:@/])*$`);
const querySyntax = new RegExp(`^(?:${encoded}|[:@/?])*$`);
const futureSyntax = /^v[0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+$/i;

/** RFC 3986. */
function isUriReference(text: string): boolean {
  const parts = uriSyntax.exec(text);
  if (!parts) return false;
  const [, scheme, authority, path = '', query = '', fragment = ''] = parts;
  if (!pathSyntax.test(path) || !querySyntax.test(query) || !querySyntax.test(fragment)) return false;
  if (authority !== undefined) return isAuthority(authority) && (path === '' || path.startsWith('/'));
  // A relative path that begins with "a:" would be read as a scheme.
  return scheme !== undefined || !path.split('/')[0]!.includes(':');
}

function isAuthority(authority: string): boolean {
  const at = authority.lastIndexOf('@');
  if (at >= 0 && !userSyntax.test(authority.slice(0, at))) return false;
  const parts = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(authority.slice(at + 1));
  if (!parts) return false;
  const host = parts[1]!;
  if (!host.startsWith('[')) return registeredSyntax.test(host);
  const literal = host.slice(1, -1);
  return isIpv6(literal) || futureSyntax.test(literal);
}

function isUri(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9+.-]*:/.test(text) && isUriReference(text);
}

function isRegex(text: string): boolean {
  try {
    new RegExp(text, 'u');
    return true;
  } catch {
    return false;
  }
}

const uuidSyntax = /^[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$/;
const pointerSyntax = /^(?:\/(?:[^~/]|~[01])*)*$/;
const base64Syntax = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const isAny = (): boolean => true;
const largestFloat = 3.4028234663852886e38;

export const formats: ReadonlyMap<string, Format> = new Map<string, Format>([
  ['date', { string: isDate, expected: '2026-01-31', cost: atLeast(20) }],
  ['time', { string: isTime, expected: '13:00:00Z', cost: atLeast(35) }],
  ['date-time', { string: isDateTime, expected: '2026-01-31T13:00:00Z', cost: atLeast(50) }],
  ['duration', { string: (text) => durationSyntax.test(text), expected: 'P1DT12H', cost: atLeast(8) }],
  ['email', { string: isEmail, expected: 'ada@example.com', cost: hostCost }],
  ['hostname', { string: isHostname, expected: 'www.example.com', cost: hostCost }],
  ['ipv4', { string: isIpv4, expected: '192.0.2.1', cost: atLeast(8) }],
  ['ipv6', { string: isIpv6, expected: '2001:db8::1', cost: atLeast(60) }],
  ['uri', { string: isUri, expected: 'https://example.com/a', cost: atLeast(30) }],
  ['uri-reference', { string: isUriReference, expected: '/a?b#c', cost: atLeast(40) }],
  [
    'uuid',
    { string: (text) => uuidSyntax.test(text), expected: '123e4567-e89b-12d3-a456-426614174000', cost: atLeast(8) },
  ],
  ['regex', { string: isRegex, expected: '^[a-z]+$', cost: (text) => 30 + text.length * 4 }],
  ['json-pointer', { string: (text) => pointerSyntax.test(text), expected: '/a/0', cost: atLeast(8) }],
  ['byte', { string: (text) => base64Syntax.test(text), expected: 'aGVsbG8=', cost: atLeast(8) }],
  ['binary', { string: isAny, expected: '', cost: atLeast(1) }],
  ['password', { string: isAny, expected: '', cost: atLeast(1) }],
  [
    'int32',
    {
      number: (value) => Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31,
      expected: '-2147483648 … 2147483647',
      cost: atLeast(1),
    },
  ],
  [
    'int64',
    {
      number: (value) => Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63,
      expected: '-9223372036854775808 … 9223372036854775807',
      cost: atLeast(1),
    },
  ],
  ['float', { number: (value) => Math.abs(value) <= largestFloat, expected: '-3.4e38 … 3.4e38', cost: atLeast(1) }],
  ['double', { number: (value) => Number.isFinite(value), expected: '-1.8e308 … 1.8e308', cost: atLeast(1) }],
]);
