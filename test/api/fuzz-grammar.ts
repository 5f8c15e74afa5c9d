/** Requests by grammar: nearly right ones over all routes, from a seed. */
import type { Random } from '../query/random.ts';
import type { RemoteRequest } from './remote.ts';

/** A collection, the names that are asked for there, and what its objects look like. */
export interface Collection {
  readonly path: string;
  readonly names: readonly string[];
  /** Members beside metadata, valid most of the time. */
  readonly members: (grammar: Grammar) => Record<string, unknown>;
  readonly fields: readonly string[];
}

const words = [
  ...['metadata', 'spec', 'status', 'name', 'labels', 'annotations', 'finalizers', 'age', 'tags', 'email', 'gender'],
  ...['address', 'city', 'zip', 'version', 'apiVersion', 'kind', 'generateName', 'creationTimestamp', 'rules', 'data'],
  ...['deletionTimestamp', 'roleRef', 'subjects', '__proto__', 'constructor', 'toString', 'hasOwnProperty', ''],
  ...['a/b', '~', '~1', 'a.example.com/x', 'platform.run/x', 'rbac.platform.run/dependencies', 'x'.repeat(300)],
];
const values = [
  ...[null, true, false, '', 'x', 'MALE', 'a@b.example', 'p-1', '12345', '2026-01-31T13:00:00Z', 'eA==', '\ud800'],
  ...[-1, 0, 0.5, 36, 1e300, 2 ** 53, 2 ** 60, -0, 'é😀', '\u0000', 'x'.repeat(300), '../..', '<b>', "' or 1=1 --"],
];
const pieces = [
  ...['spec.name', 'spec.age', 'spec.tags', 'metadata.name', 'metadata.labels', 'name', 'a.example.com/x', '=', '=='],
  ...['!=', '!', '(', ')', ',', '"', '\\', '<', '>=', '^=', '*=', '$=', ' in ', ' notin ', 'asc', 'desc', '1', '-1'],
  ...['1e9', 'é', '%', '+', '', ' ', '2026-01-31', 'true'],
];
const parameters = [
  'page',
  'size',
  'sort',
  'labelSelector',
  'fieldSelector',
  'explain',
  'x',
  '',
  'Page',
  '__proto__',
  'since',
];
const types = [
  'application/json',
  'application/merge-patch+json',
  'application/json-patch+json',
  'application/x-ndjson',
  'text/plain',
  'application/json; charset=latin1',
  '',
];
const accepts = [
  '*/*',
  'application/json',
  'application/x-ndjson',
  'text/event-stream',
  'text/html',
  'application/json;q=0',
  'x',
];
const others = [
  ...['/', '/livez', '/readyz', '/metrics', '/apis', '/api/v1alpha1', '/apis/demo.example.com', '/v3/api-docs'],
  ...['/apis/demo.example.com/v1alpha1', '/swagger-ui.html', '/v3/can-i', '/favicon.ico', '/apis//v1alpha1/users'],
  ...[
    '/apis/demo.example.com/v1alpha1/nothing',
    '/apis/demo.example.com/v2/persons',
    '/%',
    '/%2e%2e/x',
    '/a//b/',
    '/*',
  ],
];
const custom = '/apis/api.demo.example.com/v1alpha1/persons';
const documents = ['apis_aggregated.api_v1alpha1', 'apis_public.api_v1alpha1', 'apis_extension.api_v1alpha1', 'x'];

export class Grammar {
  readonly random: Random;
  readonly #collections: readonly Collection[];
  #made = 0;

  constructor(random: Random, collections: readonly Collection[]) {
    this.random = random;
    this.#collections = collections;
  }

  request(): RemoteRequest {
    const { random } = this;
    const kind = random.next();
    const made =
      kind < 0.02
        ? { path: `/v3/api-docs/${random.pick(documents)}` }
        : kind < 0.08
          ? { path: random.pick(others), ...(random.chance(0.3) && this.#write()) }
          : kind < 0.12
            ? this.#custom()
            : this.#resource(random.pick(this.#collections));
    return { ...made, headers: { ...this.#headers(), ...made.headers } };
  }

  #resource(collection: Collection): RemoteRequest {
    const { random } = this;
    const name = random.chance(0.9) ? random.pick(collection.names) : this.#segment();
    const one = `${collection.path}/${name}`;
    switch (random.below(9)) {
      case 0:
      case 1:
        return { path: `${collection.path}${this.#query(collection)}` };
      case 2:
        return { path: one };
      case 3:
      case 4:
        return {
          method: 'POST',
          path: collection.path,
          ...this.#body(this.#object(collection, random.pick(collection.names))),
        };
      case 5:
        return { method: 'PUT', path: one, ...this.#body(this.#object(collection, name)) };
      case 6: {
        const isList = random.chance(0.5);
        const type = isList ? 'application/json-patch+json' : 'application/merge-patch+json';
        return {
          method: 'PATCH',
          path: one,
          ...this.#body(isList ? this.#operations() : this.#merge(collection), type),
        };
      }
      case 7:
        return random.chance(0.5) ? { method: 'DELETE', path: one } : this.#bulk(collection);
      default:
        return random.chance(0.3) ? this.#watch(collection) : this.#odd(collection, one);
    }
  }

  /** A sub-resource, an odd method, a path with a tail. */
  #odd(collection: Collection, one: string): RemoteRequest {
    const { random } = this;
    const method = random.pick(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
    const path = random.pick([`${one}/status`, `${one}/x`, `${one}/`, collection.path, one, `${one}?x=1`]);
    return { method, path, ...(method !== 'GET' && method !== 'HEAD' && this.#write()) };
  }

  #watch(collection: Collection): RemoteRequest {
    const { random } = this;
    const more = random.pick(['', '&sendInitial=true', `&since=${random.below(3_000)}`, '&page=1&size=3', '&since=x']);
    const selector = random.chance(0.3) ? `&labelSelector=${encodeURIComponent(this.#selector())}` : '';
    const until = more.includes('page') ? 'SNAPSHOT' : 'BOOKMARK';
    return {
      path: `${collection.path}?watch=true${more}${selector}`,
      until,
      headers: { accept: random.pick(accepts) },
    };
  }

  #custom(): RemoteRequest {
    const { random } = this;
    const tail = random.pick([
      '',
      '/-/random',
      '/p-1/greetings',
      `/${this.#segment()}`,
      '/p-1/greetings/x/y/z',
      '?page=1',
    ]);
    return random.chance(0.5) ? { path: custom + tail } : { method: 'POST', path: custom + tail, ...this.#write() };
  }

  #write(): Partial<RemoteRequest> {
    return this.#body(this.tree(3), this.random.pick(types));
  }

  #bulk({ path, ...collection }: Collection): RemoteRequest {
    const { random } = this;
    const one = () =>
      this.#edited(JSON.stringify(this.#object({ path, ...collection }, random.pick(collection.names))));
    const lines = Array.from({ length: random.below(5) }, one);
    return { method: 'POST', path, headers: { 'content-type': 'application/x-ndjson' }, body: lines.join('\n') };
  }

  #body(value: unknown, type = 'application/json'): { headers: Record<string, string>; body: string } {
    const given = this.random.chance(0.97) ? type : this.random.pick(types);
    return { headers: { 'content-type': given }, body: this.#edited(JSON.stringify(value) ?? 'null') };
  }

  /** Now and then with a few characters that are others. */
  #edited(text: string): string {
    const { random } = this;
    if (random.chance(0.9)) return text;
    const at = random.below(text.length + 1);
    const put = random.pick(['', '{', '}', '"', ',', '\\', ':', '\u0000', '1e999', 'é', '[['.repeat(40), '\n']);
    return text.slice(0, at) + put + text.slice(at + random.below(3));
  }

  /** Mostly valid; else with one member put somewhere. */
  #object(collection: Collection, name: string): object {
    const { random } = this;
    const metadata: Record<string, unknown> = random.chance(0.97) ? { name } : { generateName: 'g-' };
    if (random.chance(0.3)) metadata.labels = { 'a.example.com/x': random.pick(['x', 'y', '']), plain: 'z' };
    if (random.chance(0.03)) metadata.finalizers = [`f.example.com/${random.below(3)}`];
    if (random.chance(0.05)) metadata.version = random.below(3);
    const object: Record<string, unknown> = { metadata, ...collection.members(this) };
    if (random.chance(0.75)) return object;
    const members = Object.values(object).filter((one) => typeof one === 'object' && one !== null);
    this.#put(random.chance(0.5) ? object : random.pick(members as object[]), random.pick(words), this.tree(3));
    return object;
  }

  #merge(collection: Collection): unknown {
    const { random } = this;
    if (random.chance(0.4)) return collection.members(this);
    if (random.chance(0.3)) return { metadata: { finalizers: random.chance(0.7) ? [] : ['f.example.com/1'] } };
    return this.tree(4);
  }

  #operations(): unknown {
    const { random } = this;
    const pointer = () => {
      const tokens = Array.from({ length: 1 + random.below(3) }, () =>
        random.pick([...words.slice(0, 14), '0', '1', '-', '01', '-1', '~2']),
      );
      return random.chance(0.9) ? tokens.map((token) => `/${token}`).join('') : random.pick(words);
    };
    return Array.from({ length: random.below(4) }, () => ({
      op: random.pick(['add', 'remove', 'replace', 'move', 'copy', 'test', 'x', 5]),
      path: pointer(),
      ...(random.chance(0.4) && { from: pointer() }),
      ...(random.chance(0.8) && { value: this.tree(2) }),
    }));
  }

  #query(collection: Collection): string {
    const { random } = this;
    if (random.chance(0.2)) return '';
    const text = () => {
      if (random.chance(0.3)) return random.pick(['1', '20', '1000', 'true', 'false', '0']);
      if (random.chance(0.4))
        return `${random.pick(collection.fields)}${random.pick(['', ',asc', ',desc', '=x', '!=x', '>1'])}`;
      return this.#selector();
    };
    const pairs = Array.from({ length: 1 + random.below(3) }, () => {
      const value = random.chance(0.8)
        ? encodeURIComponent(text().toWellFormed())
        : text().replace(/[^\x21-\x7e]|#/g, '');
      return `${random.pick(parameters)}=${value}`;
    });
    return `?${pairs.join('&')}`;
  }

  #selector(): string {
    return Array.from({ length: this.random.below(7) }, () => this.random.pick(pieces)).join('');
  }

  #segment(): string {
    return encodeURIComponent(String(this.random.pick([...words, ...values])).toWellFormed());
  }

  #headers(): Record<string, string> {
    const { random } = this;
    const headers: Record<string, string> = {};
    if (random.chance(0.3)) headers['accept-language'] = random.pick(['zh', 'en', 'zh-CN,zh;q=0.9', 'fr', '*', ';;']);
    if (random.chance(0.15)) headers.accept = random.pick(accepts);
    if (random.chance(0.08)) headers['if-match'] = random.pick(['*', '"x"', 'W/"x"', '""', '"1-1", "2-2"', ',']);
    if (random.chance(0.08)) headers['if-none-match'] = random.pick(['*', '"x"', 'W/"x"']);
    if (random.chance(0.05))
      headers['x-request-id'] = random.pick([`made-${this.#made++}`, 'not well-formed', 'x'.repeat(200)]);
    return headers;
  }

  /** Any JSON value. */
  tree(depth: number): unknown {
    const { random } = this;
    if (depth === 0 || random.chance(0.5)) return random.pick(values);
    if (random.chance(0.4)) return Array.from({ length: random.below(4) }, () => this.tree(depth - 1));
    if (random.chance(0.03)) return Array.from({ length: 2_000 }, (_, i) => i);
    const object = {};
    for (let i = random.below(5); i > 0; i--) this.#put(object, random.pick(words), this.tree(depth - 1));
    return object;
  }

  #put(object: object, name: string, value: unknown): void {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  }

  /** A request as bytes: a well-formed one with a few of them others, missing or twice. */
  bytes(authorization: string): Buffer {
    const { random } = this;
    const { method = 'GET', path, headers, body = '' } = this.request();
    const lines = Object.entries({
      host: 'x',
      authorization,
      'content-length': String(Buffer.byteLength(body)),
      ...headers,
    });
    const text = `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
    let bytes = Buffer.from(text);
    for (let i = random.below(4); i > 0; i--) {
      const at = random.below(bytes.length);
      const put = random.pick([
        '',
        '\r',
        '\n',
        '\r\n',
        '\0',
        ' ',
        ':',
        'Transfer-Encoding: chunked\r\n',
        'Content-Length: 5\r\n',
        '\xff',
        '0\r\n\r\n',
      ]);
      bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(put, 'latin1'), bytes.subarray(at + random.below(3))]);
    }
    return random.chance(0.1) ? bytes.subarray(0, random.below(bytes.length)) : bytes;
  }
}
