/** Whoever has the most and largest roles that there may be: questions about what they may do hold nobody else up. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { defineModel, Type } from 'kindred';
import { assertTurns, LoopGuard, turnLimit } from '../api/loop-guard.ts';
import type { RemoteRequest } from '../api/remote.ts';
import { Remote } from '../api/remote.ts';
import type { Live } from './live.ts';
import { expect, live } from './live.ts';

const numbered = <T>(count: number, one: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => one(i));
const core = '/api/v1alpha1';
const group = 'many.example.com';
const models = numbered(30, (i) =>
  defineModel({
    gvk: { group, version: 'v1', kind: `Thing${i}`, singular: `thing${i}`, plural: `thing${i}s` },
    spec: Type.Object({}),
  }),
);
const verbs = ['get', 'list', 'watch', 'update', 'patch', 'delete', 'explain'];
/** Shows that there are models, so that every one is asked about. */
const one = { apiGroups: [group], resources: ['thing0s'], verbs: ['get'] };

/** Of 100 rules each; all of one identity's roles together have more entries than count. */
const kinds: Record<string, (i: number) => object> = {
  'for other verbs': (i) => ({ apiGroups: [group], resources: ['*'], verbs: [`v${i}`] }),
  'for one object, with all verbs': (i) => ({ apiGroups: [group], resources: ['*'], verbs, resourceNames: [`n${i}`] }),
};
const count = 990;

describe('permissions: the most roles that count', () => {
  let world: Live;
  let remote: Remote;
  let guard: LoopGuard;
  let made = 0;

  before(async () => {
    world = await live({}, ({ schemeManager }) => {
      for (const model of models) schemeManager.register(model);
    });
    remote = new Remote(world.url);
    guard = new LoopGuard();
  });
  after(async () => {
    guard.stop();
    await remote.close();
    await world[Symbol.asyncDispose]();
  });

  async function longestOf(request: RemoteRequest, token: string, isRight: (text: string) => boolean): Promise<number> {
    guard.take();
    const [reply] = await remote.send([
      { ...request, headers: { authorization: `Bearer ${token}`, ...request.headers } },
    ]);
    const longest = guard.take();
    assert.ok(reply!.status === 200 && isRight(reply!.text), `${reply!.status} ${reply!.text.slice(0, 300)}`);
    return longest;
  }

  for (const [name, ruleOf] of Object.entries(kinds)) {
    test(`permissions: no turn over ${turnLimit} ms with roles ${name}`, async (context) => {
      const prefix = `role-${made++}`;
      const role = (metadata: object, rules: readonly object[]) => JSON.stringify({ metadata, rules });
      const bulk = (lines: readonly string[]): RemoteRequest => ({
        method: 'POST',
        path: `${core}/roles`,
        headers: { 'content-type': 'application/x-ndjson' },
        body: lines.join('\n'),
      });
      const rules = numbered(100, ruleOf);
      let longest = 0;
      for (let at = 0; at < count; at += 110) {
        const lines = numbered(110, (i) => role({ name: `${prefix}-${at + i}` }, rules));
        longest = Math.max(longest, await longestOf(bulk(lines), world.token!, (text) => !text.includes('"status":4')));
      }
      context.diagnostic(`the roles: ${Math.round(longest)} ms`);
      const dependencies = JSON.stringify(numbered(count, (i) => `${prefix}-${i}`));
      const all = { name: prefix, annotations: { 'rbac.platform.run/dependencies': dependencies } };
      await expect(201, world.admin('POST', `${core}/roles`, { metadata: all, rules: [one] }));
      const { token } = await world.person(prefix, [prefix]);
      const asked: Record<string, [RemoteRequest, string]> = {
        groups: [{ path: '/apis' }, 'groups'],
        resources: [{ path: `/apis/${group}/v1` }, 'resources'],
        'API description': [{ path: '/v3/api-docs/apis_aggregated.api_v1alpha1' }, 'openapi'],
        'can-i': [
          {
            method: 'POST',
            path: '/v3/can-i',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ verb: 'list', type: 'thing1s', name: 'x' }),
          },
          'allowed',
        ],
      };
      for (const [what, [request, expected]] of Object.entries(asked)) {
        const ask = async () => {
          // Nothing is remembered of the question before.
          await expect(201, world.admin('POST', `${core}/roles`, { metadata: { generateName: 'new-' }, rules: [] }));
          return longestOf(request, token, (text) => text.includes(expected));
        };
        const first = await ask();
        context.diagnostic(`${what}: ${Math.round(first)} ms`);
        await assertTurns(`${what}, ${name}`, first, ask);
      }
    });
  }
});
