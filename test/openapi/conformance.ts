/**
 * Compares one request and its answer with an API description, in both directions: what was answered is declared, and a
 * request that succeeded is one that the description allows. Used by the tests of the API on every exchange.
 */
import type { ValidateFunction } from 'ajv/dist/2020.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export interface ObservedExchange {
  readonly method: string;
  /** Path and query as sent. */
  readonly path: string;
  readonly requestHeaders: Iterable<readonly [string, string]>;
  /** The body as sent; undefined: none. */
  readonly requestBody?: string | Uint8Array | undefined;
  readonly status: number;
  readonly headers: Iterable<readonly [string, string]>;
  readonly body: string;
}

type Json = Record<string, any>;

/** Of HTTP itself, not of an operation. */
const transportHeaders = new Set([
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'trailer',
  'transfer-encoding',
  'vary',
]);
/** Of requests across origins, which an option allows for all routes. */
const crossOrigin = /^access-control-/;
export class Conformance {
  readonly #document: Json;
  readonly #ajv: Ajv2020;
  readonly #routes: { readonly path: string; readonly pattern: RegExp; readonly names: readonly string[] }[];
  readonly #validators = new Map<string, ValidateFunction>();
  /** Request headers that some operation knows. */
  readonly #requestHeaders: ReadonlySet<string>;

  constructor(document: object) {
    this.#document = document as Json;
    this.#ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true });
    (addFormats as unknown as (ajv: Ajv2020) => void)(this.#ajv);
    this.#ajv.addSchema({ $id: 'doc:/', ...document });
    const operations = Object.values<Json>(this.#document.paths).flatMap((item) => Object.values<Json>(item));
    this.#requestHeaders = new Set(
      operations
        .flatMap((one) => one.parameters ?? [])
        .map((one: Json) => this.#resolve(one))
        .filter((one: Json) => one.in === 'header')
        .map((one: Json) => one.name.toLowerCase()),
    );
    this.#routes = Object.keys(this.#document.paths)
      .map((path) => ({
        path,
        pattern: patternOf(path),
        names: [...path.matchAll(/\{([^}]*)\}/g)].map((one) => one[1]!),
      }))
      // A text in a path wins over a parameter.
      .sort((a, b) => a.names.length - b.names.length);
  }

  /** One sentence for each thing that description and exchange do not agree on; empty when they agree. */
  check(exchange: ObservedExchange): string[] {
    if (exchange.method === 'OPTIONS') return [];
    const method = exchange.method === 'HEAD' ? 'GET' : exchange.method;
    const url = new URL(exchange.path, 'http://localhost');
    const route = this.#routes.find((one) => one.pattern.test(decoded(url.pathname)));
    const operation: Json | undefined = route && this.#document.paths[route.path][method.toLowerCase()];
    const name = `${exchange.method} ${exchange.path} → ${exchange.status}`;
    if (!operation) return this.#checkUndescribed(exchange, route !== undefined).map((one) => `${name}: ${one}`);
    const bulk = exchange.status < 300 && mediaTypeOf(exchange.requestHeaders) === 'application/x-ndjson';
    const described = bulk ? { ...operation, ...operation['x-bulk'] } : operation;
    const problems = this.#checkAnswer(exchange, url, described);
    if (exchange.status < 300) problems.push(...this.#checkRequest(exchange, url, route!, described));
    return problems.map((one) => `${name}: ${one}`);
  }

  /** No such operation: then there is an error and nothing else. */
  #checkUndescribed({ status, headers, body, method }: ObservedExchange, known: boolean): string[] {
    const usual = known ? [401, 403, 404, 405] : [400, 401, 403, 404, 405, 414, 429, 431, 501, 503];
    if (!usual.includes(status)) return ['the description has no such operation'];
    if (method === 'HEAD' || body === '') return [];
    return new Map(headers).get('content-type')?.startsWith('application/problem+json')
      ? this.#validate({ $ref: '#/components/schemas/Problem' }, body, 'the body')
      : ['an error that is no application/problem+json'];
  }

  #checkAnswer(exchange: ObservedExchange, url: URL, operation: Json): string[] {
    const { status } = exchange;
    const { responses } = operation;
    const found = responses[status] ?? responses[`${Math.floor(status / 100)}XX`] ?? responses.default;
    if (!found) return [`the status is not declared; declared are ${Object.keys(responses).join(', ')}`];
    const response: Json = this.#resolve(found);
    return [...this.#checkHeaders(exchange, response), ...this.#checkBody(exchange, url, response)];
  }

  #checkHeaders(exchange: ObservedExchange, response: Json): string[] {
    const problems: string[] = [];
    const declared = new Map(
      Object.entries<Json>(response.headers ?? {}).map(([name, one]) => [name.toLowerCase(), this.#resolve(one)]),
    );
    for (const [name, value] of exchange.headers) {
      const key = name.toLowerCase();
      const header = declared.get(key);
      if (header) problems.push(...this.#validateText(header.schema, [value], `the header ${name}`));
      else if (!transportHeaders.has(key) && !crossOrigin.test(key))
        problems.push(`the header ${name} is not declared`);
    }
    const sent = new Set([...exchange.headers].map(([name]) => name.toLowerCase()));
    for (const [name, header] of declared) {
      if (header.required && !sent.has(name))
        problems.push(`the header ${name} is declared as required and is missing`);
    }
    return problems;
  }

  #checkBody(exchange: ObservedExchange, url: URL, response: Json): string[] {
    const { method, body } = exchange;
    const content: Json = response.content ?? {};
    const streams: Json = response['x-streams'] ?? {};
    const declared = [...Object.keys(content), ...Object.keys(streams)].join(', ');
    const given = mediaTypeOf(exchange.headers);
    const watching = url.searchParams.get('watch') === 'true';
    const item: string | undefined = watching ? streams[given]?.event : streams[given]?.item;
    if (item) {
      const [items, what] = given === 'text/event-stream' ? [eventsOf(body), 'event'] : [linesOf(body), 'line'];
      return items.flatMap((one, i) => this.#validate({ $ref: item }, one, `${what} ${i + 1}`));
    }
    if (content['*/*']) return [];
    if (body === '')
      return method === 'HEAD' || declared === '' ? [] : [`the body is missing; declared is ${declared}`];
    const media: Json | undefined = content[given];
    if (!media) return [`the media type ${given || 'of no name'} is not declared; declared are ${declared}`];
    const explained = url.searchParams.get('explain') === 'true' ? media['x-explain-schema'] : undefined;
    if (isJson(given)) return this.#validate(explained ? { $ref: explained } : media.schema, body, 'the body');
    return this.#validateText(media.schema, [body], 'the body');
  }

  #checkRequest(
    exchange: ObservedExchange,
    url: URL,
    route: { pattern: RegExp; names: readonly string[] },
    operation: Json,
  ): string[] {
    const problems: string[] = [];
    const parameters: Json[] = (operation.parameters ?? []).map((one: Json) => this.#resolve(one));
    const of = (place: string) => parameters.filter((one) => one.in === place);
    const check = (
      place: string,
      name: string,
      values: readonly string[],
      isDeclared: (one: Json) => boolean,
    ): void => {
      const parameter = of(place).find(isDeclared);
      if (parameter) problems.push(...this.#validateText(parameter.schema, values, `the ${place} parameter ${name}`));
      else problems.push(`the ${place} parameter ${name} is not declared, yet the request succeeded`);
    };
    const values = route.pattern.exec(decoded(url.pathname))!.slice(1).map(decodeURIComponent);
    for (const [i, name] of route.names.entries()) check('path', name, [values[i]!], (one) => one.name === name);
    for (const name of new Set(url.searchParams.keys()))
      check('query', name, url.searchParams.getAll(name), (one) => one.name === name);
    for (const [name, value] of exchange.requestHeaders) {
      const key = name.toLowerCase();
      // What no operation knows is nobody's business (RFC 9110, section 5.1).
      if (this.#requestHeaders.has(key)) check('header', name, [value], (one) => one.name.toLowerCase() === key);
    }
    for (const one of of('query')) {
      if (one.required && !url.searchParams.has(one.name))
        problems.push(`the required parameter ${one.name} is missing, yet the request succeeded`);
    }
    return [...problems, ...this.#checkRequestBody(exchange, operation)];
  }

  #checkRequestBody({ requestBody, requestHeaders }: ObservedExchange, operation: Json): string[] {
    const declared: Json | undefined = operation.requestBody;
    if (requestBody === undefined)
      return declared?.required ? ['the required body is missing, yet the request succeeded'] : [];
    if (!declared) return ['a body is not declared, yet the request succeeded'];
    const given = mediaTypeOf(requestHeaders);
    const media: Json | undefined = declared.content[given];
    if (!media) return [`the media type ${given} of the request is not declared, yet it succeeded`];
    const text = typeof requestBody === 'string' ? requestBody : Buffer.from(requestBody).toString();
    // Lines of a bulk request succeed and fail one by one.
    if (media.item)
      return this.#document.components.schemas[media.item.split('/').at(-1)!] ? [] : ['no schema of a line'];
    return isJson(given) ? this.#validate(media.schema, text, 'the body of the request') : [];
  }

  #resolve(value: Json): Json {
    if (typeof value.$ref !== 'string') return value;
    const [, kind, name] = value.$ref.slice(2).split('/');
    return this.#document.components[kind!][name!];
  }

  #validate(schema: object, text: string, what: string): string[] {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return [`${what} is no JSON`];
    }
    return this.#violations(schema, value, what);
  }

  /** A text, or texts for a list, converted by the type of the schema. */
  #validateText(schema: Json, values: readonly string[], what: string): string[] {
    const convert = (text: string, { type }: Json): unknown => {
      if (type === 'integer' || type === 'number') return Number(text);
      return type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text;
    };
    const value =
      schema.type === 'array' ? values.map((one) => convert(one, schema.items)) : convert(values[0]!, schema);
    return this.#violations(schema, value, what);
  }

  #violations(schema: object, value: unknown, what: string): string[] {
    const key = JSON.stringify(schema);
    let validate = this.#validators.get(key);
    if (!validate) {
      validate = this.#ajv.compile(JSON.parse(key.replaceAll('"$ref":"#/', '"$ref":"doc:/#/')));
      this.#validators.set(key, validate);
    }
    if (validate(value)) return [];
    return validate.errors!.map(
      ({ instancePath, message, params }) => `${what} at "${instancePath}" ${message} ${JSON.stringify(params)}`,
    );
  }
}

/** Escapes of characters that need none mean the same path (RFC 3986, section 6.2.2.2). */
function decoded(path: string): string {
  return path.replaceAll(/%[2-7][0-9a-f]/gi, (triplet) => {
    const character = decodeURIComponent(triplet);
    return /[\w.~-]/.test(character) ? character : triplet;
  });
}

function patternOf(path: string): RegExp {
  const parts = path.split(/\{[^}]*\}/).map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('([^/]+)')}$`);
}

function mediaTypeOf(headers: Iterable<readonly [string, string]>): string {
  const [, value = ''] = [...headers].find(([name]) => name.toLowerCase() === 'content-type') ?? [];
  return value.split(';', 1)[0]!.trim().toLowerCase();
}

function isJson(mediaType: string): boolean {
  return mediaType === 'application/json' || mediaType.endsWith('+json');
}

function linesOf(body: string): string[] {
  return body.split('\n').filter((line) => line !== '');
}

function eventsOf(body: string): string[] {
  return linesOf(body)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5));
}

/** Checks exchanges of one running service against the description it serves; read again when it may have changed. */
export class LiveConformance {
  readonly #read: () => Promise<object | undefined>;
  #conformance: Conformance | undefined;

  /** @param read the description now; undefined when it cannot be had */
  constructor(read: () => Promise<object | undefined>) {
    this.#read = read;
  }

  async check(exchange: ObservedExchange): Promise<string[]> {
    const problems = this.#conformance?.check(exchange);
    if (problems?.length === 0) return problems;
    const document = await this.#read();
    if (!document) return [];
    this.#conformance = new Conformance(document);
    return this.#conformance.check(exchange);
  }
}
