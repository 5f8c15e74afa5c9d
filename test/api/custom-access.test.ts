import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { GroupVersion, route } from '../../src/http/custom/declaration.ts';
import type { PluginContext } from '../../src/plugin/plugin.ts';
import { definePlugin } from '../../src/plugin/plugin.ts';
import type { Live, Send } from '../auth/live.ts';
import { expect, live } from '../auth/live.ts';
import { Person, person, persons } from './harness.ts';

const plugin = definePlugin({
  start(context: PluginContext) {
    context.registerEndpoint({
      groupVersion: () => GroupVersion.parse('api.demo.example.com/v1alpha1'),
      endpoint: () =>
        route()
          .GET(
            '/persons',
            () => 'list',
            (d) => d.operationId('ListThem'),
          )
          .POST('/persons', () => 'create')
          .GET(
            '/persons/-/random',
            () => 'random',
            (d) => d.operationId('AnyOne'),
          )
          .GET(
            '/persons/{name}',
            () => 'get',
            (d) => d.operationId('OneOfThem'),
          )
          .PUT('/persons/{name}', () => 'update')
          .PATCH('/persons/{name}', () => 'patch')
          .DELETE('/persons/{name}', () => 'delete')
          .GET('/persons/{name}/friends', () => 'friends')
          .GET('/persons/{name}/friends/{friend}', () => 'friend')
          .GET('/persons/{name}/self', ({ client, params }) => client.get(Person, params.name!))
          .build(),
    });
  },
});

const base = '/apis/api.demo.example.com/v1alpha1';
const rule = (resources: string[], verbs: string[], resourceNames?: string[]) => ({
  apiGroups: ['api.demo.example.com'],
  resources,
  verbs,
  ...(resourceNames && { resourceNames }),
});

const roles: Record<string, object[]> = {
  reader: [rule(['persons'], ['get', 'list'])],
  named: [rule(['persons', 'persons/random', 'persons/friends'], ['get', 'list', 'delete'], ['bob'])],
  friends: [rule(['persons/friends'], ['get'])],
  seventh: [rule(['persons/friends/eve'], ['get'])],
  writer: [rule(['persons'], ['create', 'update', 'patch'])],
  self: [rule(['persons/self'], ['get'])],
};

/** Who may do what: method, path, and the roles that are enough for it. */
const cases: [method: string, path: string, allowed: string[]][] = [
  ['GET', '/persons', ['reader']],
  ['HEAD', '/persons', ['reader']],
  ['GET', '/persons/bob', ['reader', 'named']],
  ['GET', '/persons/eve', ['reader']],
  ['GET', '/persons/-', ['reader']],
  ['GET', '/persons/-/random', []],
  ['GET', '/persons/bob/friends', ['named', 'friends']],
  ['GET', '/persons/eve/friends', ['friends']],
  ['GET', '/persons/bob/friends/eve', ['named', 'friends', 'seventh']],
  ['GET', '/persons/bob/friends/cy', ['named', 'friends']],
  ['POST', '/persons', ['writer']],
  ['PUT', '/persons/bob', ['writer']],
  ['PATCH', '/persons/bob', ['writer']],
  ['DELETE', '/persons/bob', ['named']],
];

describe('permissions on custom routes', () => {
  let running: Live;
  const people = new Map<string, Send>();

  before(async () => {
    running = await live(
      { plugins: [{ name: 'demo', plugin }] },
      ({ schemeManager }) => void schemeManager.register(Person),
    );
    for (const [name, rules] of Object.entries(roles)) {
      await expect(201, running.admin('POST', '/api/v1alpha1/roles', { metadata: { name }, rules }));
      people.set(name, (await running.person(`user-${name}`, [name])).send);
    }
    await expect(201, running.admin('POST', persons, person('bob')));
  });
  after(() => running[Symbol.asyncDispose]());

  for (const [method, path, allowed] of cases) {
    test(`permissions: custom routes map by the path rule - ${method} ${path}`, async () => {
      for (const [role, send] of people) {
        const { status } = await send(method, base + path);
        assert.equal(status, allowed.includes(role) ? 200 : 403, role);
      }
      assert.equal((await running.admin(method, base + path)).status, 200);
      assert.equal((await running.anonymous(method, base + path)).status, 401);
    });
  }

  test('plugins: request.client in a route acts as the caller', async () => {
    assert.equal((await people.get('self')!('GET', `${base}/persons/bob/self`)).status, 403);
    assert.equal((await running.admin('GET', `${base}/persons/bob/self`)).body.metadata.name, 'bob');
  });

  test('permissions: discovery and API description show a caller what the caller may use', async () => {
    const operations = async (send: Send): Promise<string[]> => {
      const { body } = await expect(200, send('GET', '/v3/api-docs/apis_public.api_v1alpha1'));
      const items: any[] = Object.values(body.paths);
      return items.flatMap((item) => Object.values<any>(item).map((one) => one.operationId)).sort();
    };
    const role = {
      metadata: { name: 'docs' },
      rules: [...roles.reader!, { nonResourceURLs: ['/v3/*', '/apis', '/apis/*'], verbs: ['get'] }],
    };
    await expect(201, running.admin('POST', '/api/v1alpha1/roles', role));
    const { send } = await running.person('docs-reader', ['docs']);
    assert.deepEqual(await operations(send), ['ListThem', 'OneOfThem']);
    assert.equal((await operations(running.admin)).length, 10);
    const { body } = await expect(200, send('GET', '/apis'));
    assert.deepEqual(body, { groups: [] });
  });
});
