import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap } from '../../src/auth/models.ts';
import { KindredError } from '../../src/errors.ts';
import type { PluginContext } from '../../src/plugin/plugin.ts';
import { cleanUp, folderOf } from '../plugins/kit.ts';
import { expect, live } from './live.ts';

const core = '/api/v1alpha1';

test('plugins: a plugin may do everything with its pre-declared objects, and nothing with others of that model', async () => {
  const seen = Symbol.for('kindred.test.predeclared');
  const folder = folderOf({
    'package.json': {
      name: 'settings',
      version: '1.0.0',
      type: 'module',
      main: 'main.js',
      kindred: { name: 'settings' },
    },
    'main.js': `import { definePlugin } from 'kindred';
      export default definePlugin({ start(context) { globalThis[Symbol.for('kindred.test.predeclared')] = context; } });`,
    'extensions/settings.yaml':
      'apiVersion: v1alpha1\nkind: ConfigMap\nmetadata: { name: settings }\ndata: { colour: red }\n',
  });
  try {
    await using world = await live({ plugins: [folder] });
    await expect(201, world.admin('POST', `${core}/configmaps`, { metadata: { name: 'other' }, data: {} }));
    const { client } = (globalThis as unknown as Record<symbol, PluginContext>)[seen]!;
    const isForbidden = (error: unknown) => error instanceof KindredError && error.code === 'Forbidden';
    await client.patch(ConfigMap, 'settings', { data: { colour: 'blue' } });
    assert.deepEqual((await client.get(ConfigMap, 'settings')).data, { colour: 'blue' });
    assert.deepEqual(await client.listNames(ConfigMap), ['settings']);
    await assert.rejects(client.get(ConfigMap, 'other'), isForbidden);
    await assert.rejects(client.patch(ConfigMap, 'other', { data: { colour: 'blue' } }), isForbidden);
    await assert.rejects(client.create(ConfigMap, { metadata: { name: 'more' } }), isForbidden);
  } finally {
    await cleanUp();
  }
});

test('permissions: the first start prints the token of the administrator, whatever plugins bring along', async () => {
  const folder = folderOf({
    'package.json': { name: 'grants', version: '1.0.0', type: 'module', main: 'main.js', kindred: { name: 'grants' } },
    'main.js': `import { definePlugin } from 'kindred'; export default definePlugin({ start() {} });`,
    'extensions/grants.yaml':
      'apiVersion: v1alpha1\nkind: PersonalAccessToken\nmetadata: { name: guest }\nspec: { user: guest }\n',
  });
  try {
    await using world = await live({ plugins: [folder] });
    await expect(200, world.admin('GET', `${core}/personalaccesstokens/guest`));
  } finally {
    await cleanUp();
  }
});
