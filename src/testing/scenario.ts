/** API tests as data: each case is a record, not a procedure. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Harness, HarnessRequest } from './harness.ts';

/** One request and what must come of it. */
export interface Scenario {
  readonly name: string;
  /** Objects that must be there before, posted one after the other: path of the list → objects. */
  readonly given?: Readonly<Record<string, readonly object[]>>;
  readonly request: HarnessRequest & { readonly path: string };
  readonly status: number;
  /** Headers of the answer, names in lower case; a text must be equal, an expression must match. */
  readonly headers?: Readonly<Record<string, string | RegExp>>;
  /** Parts of the JSON body: members that are not named may be anything. */
  readonly body?: object;
  /** Afterwards: path → parts of the body of a GET, or `null` when it must answer 404. */
  readonly then?: Readonly<Record<string, object | null>>;
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
  harness: Harness,
  { given, request, status, headers, body, then }: Scenario,
): Promise<void> {
  for (const [path, objects] of Object.entries(given ?? {})) {
    for (const json of objects) {
      const response = await harness.fetch(path, { method: 'POST', json });
      assert.equal(response.status, 201, `given: ${await response.text()}`);
    }
  }
  const { path, ...rest } = request;
  const response = await harness.fetch(path, rest);
  const text = await response.text();
  assert.equal(response.status, status, text);
  for (const [name, expected] of Object.entries(headers ?? {})) {
    const value = response.headers.get(name);
    if (expected instanceof RegExp) assert.match(value ?? '', expected, name);
    else assert.equal(value, expected, name);
  }
  if (body) assert.partialDeepStrictEqual(JSON.parse(text), body);
  for (const [at, expected] of Object.entries(then ?? {})) {
    const after = await harness.fetch(at);
    const content = await after.text();
    assert.equal(after.status, expected === null ? 404 : 200, content);
    if (expected) assert.partialDeepStrictEqual(JSON.parse(content), expected);
  }
}
