/** Absolute URLs and absolute paths, as Go's `url.ParseRequestURI` reads them. */
const syntax = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?]*))?([^?]*)(?:\?(.*))?$/s;

export class CelUrl {
  readonly kind = 'url';
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;

  constructor(scheme: string, host: string, path: string, query: string) {
    this.scheme = scheme;
    this.host = host;
    this.path = path;
    this.query = query;
  }

  static parse(text: string): CelUrl | undefined {
    if (text === '' || hasControls(text)) return undefined;
    const [, scheme = '', authority = '', path = '', query = ''] = syntax.exec(text)!;
    if (scheme === '' && !text.startsWith('/')) return undefined;
    const hostStart = authority.lastIndexOf('@') + 1;
    const host = authority.slice(hostStart);
    const isWell =
      /^(?:\[[0-9A-Fa-f:.]+(?:%25[^\]]*)?\]|(?:[^\s#%:[\]<>"\\^`{|}]|%25|%[89A-Fa-f][0-9A-Fa-f])*)(?::\d*)?$/.test(
        host,
      ) &&
      (hostStart === 0 || /^(?:[\w.~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*$/.test(authority.slice(0, hostStart - 1)));
    if (!isWell || /%(?![0-9A-Fa-f]{2})/.test(path)) return undefined;
    return new CelUrl(scheme.toLowerCase(), host, path, query);
  }

  get port(): string {
    return /:(\d*)$/.exec(this.host.replace(/^\[[^\]]*\]/, ''))?.[1] ?? '';
  }

  get hostname(): string {
    const bracketed = /^\[([^\]]*)\]/.exec(this.host);
    return bracketed ? bracketed[1]! : this.host.replace(/:\d*$/, '');
  }

  get escapedPath(): string {
    return encodeURI(this.path.toWellFormed()).replaceAll(/%25([0-9A-Fa-f]{2})/g, '%$1');
  }

  /** Values by name, in the order in which they came. */
  get values(): ReadonlyMap<string, readonly string[]> {
    const params = new URLSearchParams(this.query);
    return new Map([...params.keys()].map((name) => [name, params.getAll(name)]));
  }

  equals(other: CelUrl): boolean {
    return this.toString() === other.toString();
  }

  toString(): string {
    const query = this.query === '' ? '' : `?${this.query}`;
    const start = this.scheme === '' ? '' : `${this.scheme}:`;
    return `${start}${this.host === '' ? '' : `//${this.host}`}${this.path}${query}`;
  }
}

function hasControls(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) < 0x20 || text.charCodeAt(i) === 0x7f) return true;
  return false;
}
