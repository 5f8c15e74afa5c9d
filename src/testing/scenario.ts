/** API tests as data: each case is a record, not a procedure. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Harness, HarnessRequest } from './harness.ts';

/** What a response must be. */
export interface ExpectedResponse {
  readonly status: number;
  /** Names in lower case. A text must be equal, an expression must match; undefined: the header must not be there. */
  readonly headers?: Readonly<Record<string, string | RegExp | undefined>>;
  /**
   * A text or an expression: the body as text. Otherwise parts of the JSON body. Members of an object that are not named
   * may be anything, and one that is undefined must not be there; a list has as many elements as expected; an expression
   * must match a text; a function says whether it holds.
   */
  readonly body?: object | string;
}

/** One request and what must come of it. */
export interface Scenario extends ExpectedResponse {
  readonly name: string;
  /** Objects that must be there before, posted one after the other: path of the list → objects. */
  readonly given?: Readonly<Record<string, readonly object[]>>;
  readonly request: HarnessRequest & { readonly path: string };
  /** Afterwards: path → the body of a GET that answers 200, as in `body`; `null` when it must answer 404. */
  readonly then?: Readonly<Record<string, object | string | null>>;
}

/**
 * Declares one test of `node:test` for each scenario. `harness` is asked when a test runs.
 *
 * @example
 * ```ts
 * const books = '/apis/library.example.com/v1alpha1/books';
 * runScenarios(() => harness, [
 *   { name: 'a book needs a title', request: { path: books, method: 'POST', json: { metadata: { name: 'a' }, spec: {} } }, status: 422,
 *     body: { errors: [{ pointer: '/spec/title', keyword: 'required' }] }, then: { [`${books}/a`]: null } },
 * ]);
 * ```
 */
export function runScenarios(harness: () => Harness, scenarios: readonly Scenario[]): void {
  for (const scenario of scenarios) it(scenario.name, () => runScenario(harness(), scenario));
}

/**
 * Runs one scenario against a service that is there; an assertion error says what was not as expected.
 *
 * @example
 * ```ts
 * await runScenario(harness, { name: 'no book yet', request: { path: '/apis/library.example.com/v1alpha1/books' }, status: 200, body: { total: 0 } });
 * ```
 */
export async function runScenario(
  harness: Pick<Harness, 'fetch'>,
  { given, request, then, ...expected }: Scenario,
): Promise<void> {
  for (const [path, objects] of Object.entries(given ?? {})) {
    for (const json of objects) {
      const response = await harness.fetch(path, { method: 'POST', json });
      assert.equal(response.status, 201, `given: ${await response.text()}`);
    }
  }
  const { path, ...rest } = request;
  assertReply(await replyOf(harness.fetch(path, rest)), expected);
  for (const [at, body] of Object.entries(then ?? {})) {
    assertReply(await replyOf(harness.fetch(at)), body === null ? { status: 404 } : { status: 200, body });
  }
}

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

async function replyOf(answering: Promise<Response>): Promise<Reply> {
  const response = await answering;
  return { status: response.status, headers: response.headers, text: await response.text() };
}

export function assertReply({ text, ...reply }: Reply, { status, headers, body }: ExpectedResponse): void {
  assert.equal(reply.status, status, text.slice(0, 2_000));
  for (const [name, expected] of Object.entries(headers ?? {})) {
    const value = reply.headers.get(name);
    if (expected instanceof RegExp) assert.match(value ?? '', expected, name);
    else assert.equal(value, expected ?? null, name);
  }
  if (typeof body === 'string') assert.equal(text, body);
  else if (body instanceof RegExp) assert.match(text, body);
  else if (body !== undefined) assertParts(JSON.parse(text), body, '');
}

/** As `body` of a response. @param path where `actual` stands, for what is said of it */
export function assertParts(actual: unknown, expected: unknown, path: string): void {
  const known = `${path}: ${JSON.stringify(actual)}`;
  if (expected instanceof RegExp) assert.match(String(actual), expected, path);
  else if (typeof expected === 'function') assert.ok(expected(actual), known);
  else if (Array.isArray(expected)) {
    assert.ok(Array.isArray(actual), `no list: ${known}`);
    assert.equal(actual.length, expected.length, known);
    for (const [index, one] of expected.entries()) assertParts(actual[index], one, `${path}/${index}`);
  } else if (typeof expected === 'object' && expected !== null) {
    assert.ok(typeof actual === 'object' && actual !== null, `no object: ${known}`);
    const members = actual as Record<string, unknown>;
    for (const [name, one] of Object.entries(expected)) assertParts(members[name], one, `${path}/${name}`);
  } else assert.deepEqual(actual, expected, path);
}
