import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Scenario } from './scenario.ts';
import { runScenario } from './scenario.ts';

const body = { code: 'Ok', items: [{ name: 'a' }, { name: 'b' }], extra: 1 };

/** Answers every path but `/none` with `body`, and counts requests. */
function answering() {
  const asked: string[] = [];
  return {
    asked,
    async fetch(path: string, { method = 'GET' } = {}) {
      asked.push(`${method} ${path}`);
      return new Response(JSON.stringify(body), {
        status: path === '/none' ? 404 : method === 'POST' ? 201 : 200,
        headers: { etag: '"1"' },
      });
    },
  };
}

const good: Scenario = {
  name: 'good',
  given: { '/list': [{ name: 'a' }, { name: 'b' }] },
  request: { path: '/one' },
  status: 200,
  headers: { etag: /^"\d"$/, location: undefined },
  body: { code: /^O/, items: [{ name: 'a' }, {}], extra: Number.isInteger, other: undefined },
  then: { '/one': { code: 'Ok' }, '/none': null },
};

test('a scenario posts what is given, sends the request and looks at the state afterwards', async () => {
  const harness = answering();
  await runScenario(harness, good);
  assert.deepEqual(harness.asked, ['POST /list', 'POST /list', 'GET /one', 'GET /one', 'GET /none']);
});

const wrong: Record<string, Partial<Scenario>> = {
  'what is given is refused': { given: { '/none': [{}] } },
  'another status': { status: 201 },
  'another header': { headers: { etag: '"2"' } },
  'a header that does not match': { headers: { etag: /2/ } },
  'a header that must not be there': { headers: { etag: undefined } },
  'another member': { body: { code: 'Bad' } },
  'a missing member': { body: { other: 1 } },
  'a member that must not be there': { body: { extra: undefined } },
  'a member that does not match': { body: { code: /^B/ } },
  'a function that says no': { body: { extra: () => false } },
  'a longer list': { body: { items: [{ name: 'a' }] } },
  'an empty list': { body: { items: [] } },
  'another element': { body: { items: [{}, { name: 'c' }] } },
  'another text': { body: 'nothing' },
  'a text that does not match': { body: /nothing/ },
  'another state afterwards': { then: { '/one': { code: 'Bad' } } },
  'something that should be gone': { then: { '/one': null } },
  'nothing where something should be': { then: { '/none': {} } },
};
for (const [name, change] of Object.entries(wrong)) {
  test(`a scenario fails on ${name}`, async () => {
    await assert.rejects(runScenario(answering(), { ...good, ...change }), assert.AssertionError);
  });
}
