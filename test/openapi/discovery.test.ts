import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import type { ServedVersion } from '../../src/http/api/discovery.ts';
import { discover } from '../../src/http/api/discovery.ts';
import { swaggerFile } from '../../src/http/openapi/swagger.ts';
import { defineModel } from '../../src/model/define.ts';
import { SchemeRegistry } from '../../src/model/registry.ts';

function served(...models: [group: string, version: string, kind: string, status?: boolean][]): ServedVersion[] {
  const registry = new SchemeRegistry({ reservedDomain: 'platform.run', warn: () => {} });
  for (const [group, version, kind, status = false] of models) {
    const singular = kind.toLowerCase();
    const gvk = { group, version, kind, singular, plural: `${singular}s`, subresources: { status } };
    registry.register(defineModel({ gvk, spec: Type.Object({}), status: Type.Object({}) }), undefined, '');
  }
  return registry.schemes().map((scheme) => ({ scheme, shown: scheme }));
}

const versions = served(
  ['demo.example.com', 'v1alpha1', 'Person', true],
  ['demo.example.com', 'v1beta1', 'Cat'],
  ['demo.example.com', 'v1', 'Dog'],
  ['demo.example.com', 'v2', 'Emu'],
  ['demo.example.com', 'v1alpha1', 'Ant'],
  ['a.example.com', 'v1', 'Bee'],
  ['', 'v1alpha1', 'Note'],
);
const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];

test('api-description: /apis lists the groups with their versions, the empty group is not among them', () => {
  assert.deepEqual(discover(versions, '/apis'), {
    groups: [
      { name: 'a.example.com', versions: [{ groupVersion: 'a.example.com/v1', version: 'v1' }] },
      {
        name: 'demo.example.com',
        versions: ['v2', 'v1', 'v1beta1', 'v1alpha1'].map((version) => ({
          groupVersion: `demo.example.com/${version}`,
          version,
        })),
      },
    ],
  });
});

test('api-description: /apis/<group> is one of these', () => {
  const { groups } = discover(versions, '/apis') as { groups: object[] };
  assert.deepEqual(discover(versions, '/apis/demo.example.com'), groups[1]);
  assert.equal(discover(versions, '/apis/none.example.com'), undefined);
});

test('api-description: /apis/<group>/<version> lists the resources with their verbs, sub-resources too', () => {
  assert.deepEqual(discover(versions, '/apis/demo.example.com/v1alpha1'), {
    groupVersion: 'demo.example.com/v1alpha1',
    resources: [
      { name: 'ants', singularName: 'ant', kind: 'Ant', verbs },
      { name: 'persons', singularName: 'person', kind: 'Person', verbs },
      { name: 'persons/status', singularName: 'person', kind: 'Person', verbs: ['get', 'update', 'patch'] },
    ],
  });
  for (const path of ['/apis/demo.example.com/v9', '/apis/demo.example.com/v1/dogs', '/apis/', '/apis//v1', '/other']) {
    assert.equal(discover(versions, path), undefined, path);
  }
});

test('api-description: /api/<version> lists the resources of the empty group', () => {
  assert.deepEqual(discover(versions, '/api/v1alpha1'), {
    groupVersion: 'v1alpha1',
    resources: [{ name: 'notes', singularName: 'note', kind: 'Note', verbs }],
  });
});

test('permissions: discovery shows a caller what the caller may use', () => {
  const mayUse = (access: object) =>
    'resource' in access && access.resource === 'persons' && 'verb' in access && access.verb === 'get';
  assert.deepEqual(discover(versions, '/apis', mayUse), {
    groups: [
      { name: 'demo.example.com', versions: [{ groupVersion: 'demo.example.com/v1alpha1', version: 'v1alpha1' }] },
    ],
  });
  assert.deepEqual(discover(versions, '/apis/demo.example.com/v1alpha1', mayUse), {
    groupVersion: 'demo.example.com/v1alpha1',
    resources: [{ name: 'persons', singularName: 'person', kind: 'Person', verbs: ['get'] }],
  });
  assert.equal(discover(versions, '/api/v1alpha1', mayUse), undefined);
  assert.deepEqual(
    discover(versions, '/apis', () => false),
    { groups: [] },
  );
});

test('api-description: the page and its assets are served by the service, with a strict content security policy', async () => {
  const page = (await swaggerFile('/swagger-ui.html'))!;
  const html = page.body.toString();
  assert.match(page.headers['content-security-policy']!, /default-src 'none'; script-src 'self'/);
  assert.doesNotMatch(page.headers['content-security-policy']!, /unsafe/);
  const assets = [...html.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map((match) => match[1]!);
  assert.equal(assets.length, 5);
  assert.doesNotMatch(html, /https?:/);
  for (const path of assets) {
    const asset = await swaggerFile(path);
    assert.match(asset!.headers['content-type']!, path.endsWith('.css') ? /^text\/css/ : /^text\/javascript/);
    assert.ok(asset!.body.length > 100, path);
  }
  for (const path of [
    '/swagger-ui/',
    '/swagger-ui/package.json',
    '/swagger-ui/../package.json',
    '/swagger-ui/constructor',
    '/swagger-ui',
  ]) {
    assert.equal(await swaggerFile(path), undefined, path);
  }
});
