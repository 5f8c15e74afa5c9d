/** The hosts of a database URL. One of them takes writes; after a failover it is another one. */

/**
 * One URL for each host of `<scheme>://user:password@host1:port1,host2:port2/database`, a form that libpq has too
 * (PostgreSQL documentation, "Connection URIs"). The service always needs the server that takes writes, so libpq's
 * `target_session_attrs=read-write` and `primary` are taken and change nothing.
 * Throws a plain error of one line for what cannot be read.
 */
export function hostUrls(url: string): readonly string[] {
  const [, head, authority = '', tail] = /^(\w+:\/\/)([^/?#]*)(.*)$/s.exec(url) ?? [];
  const at = authority.lastIndexOf('@') + 1;
  const hosts = authority.slice(at).split(',');
  if (hosts.length > 1 && hosts.includes('')) throw new Error('the database URL has an empty name among its hosts');
  return hosts.map((host) => {
    const one = head === undefined ? url : `${head}${authority.slice(0, at)}${host}${tail}`;
    if (!URL.canParse(one))
      throw new Error('the database URL cannot be read, expected <scheme>://user:password@host/database');
    return withoutTarget(new URL(one));
  });
}

function withoutTarget(url: URL): string {
  const name = 'target_session_attrs';
  const target = url.searchParams.get(name);
  if (target !== null && target !== 'read-write' && target !== 'primary') {
    throw new Error(
      `${name}=${target} in the database URL: the service needs the server that takes writes, read-write`,
    );
  }
  url.searchParams.delete(name);
  return url.href;
}

/** Remembers which of several hosts takes writes, for everything that connects. */
export class Hosts {
  readonly #names: readonly string[];
  #current = 0;

  /** @param urls one for each host */
  constructor(urls: readonly string[]) {
    this.#names = urls.map((url) => new URL(url).host);
  }

  /** The number of the host that was good last. */
  get current(): number {
    return this.#current;
  }

  /**
   * Tries the host that was good last, then each other one, until `attempt` succeeds.
   * Rejects with the failure of the only host, or with one error that names every host and why it was of no use.
   */
  async first<T>(attempt: (host: number) => Promise<T>): Promise<T> {
    const failures: Error[] = [];
    const start = this.#current;
    for (let i = 0; i < this.#names.length; i++) {
      const host = (start + i) % this.#names.length;
      try {
        const result = await attempt(host);
        this.#current = host;
        return result;
      } catch (error) {
        failures[host] = error as Error;
      }
    }
    if (failures.length === 1) throw failures[0];
    const reasons = failures.map(({ message }, host) => `${this.#names[host]} ${message}`);
    throw new AggregateError(failures, reasons.join('; '));
  }
}
