import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aggregated, apiGroup, apiGroupList, apiResourceList, apiVersions } from './discovery.ts';
import type { ShownModel } from './shown.ts';

const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const changing = ['get', 'patch', 'update'];

function shownModel(own: Partial<ShownModel> & Pick<ShownModel, 'group' | 'version' | 'kind'>): ShownModel {
  const singular = own.kind.toLowerCase();
  return {
    listKind: `${own.kind}List`,
    singular,
    plural: `${singular}s`,
    namespaced: false,
    shortNames: [],
    categories: [],
    subresources: { status: false, scale: false },
    verbs: allVerbs,
    schema: {},
    ...own,
  };
}

const models = [
  shownModel({ group: 'demo.example.com', version: 'v1beta1', kind: 'Widget', namespaced: true }),
  shownModel({
    group: 'demo.example.com',
    version: 'v1',
    kind: 'Gadget',
    shortNames: ['gd'],
    categories: ['all'],
    subresources: { status: true, scale: true },
  }),
  shownModel({ group: '', version: 'v1', kind: 'Event' }),
  shownModel({ group: 'a.example.com', version: 'v1', kind: 'Token', verbs: ['create'] }),
];

test('the groups are listed by name, their versions by priority, and the core group is apart', () => {
  const list = apiGroupList(models) as { kind: string; groups: { name: string }[] };
  assert.equal(list.kind, 'APIGroupList');
  assert.deepEqual(
    list.groups.map(({ name }) => name),
    ['a.example.com', 'demo.example.com'],
  );
  const v1 = { groupVersion: 'demo.example.com/v1', version: 'v1' };
  assert.deepEqual(apiGroup(models, 'demo.example.com'), {
    kind: 'APIGroup',
    apiVersion: 'v1',
    name: 'demo.example.com',
    versions: [v1, { groupVersion: 'demo.example.com/v1beta1', version: 'v1beta1' }],
    preferredVersion: v1,
  });
  assert.equal(apiGroup(models, ''), undefined);
  assert.equal(apiGroup(models, 'b.example.com'), undefined);
  assert.deepEqual(apiVersions('localhost:8090'), {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'localhost:8090' }],
  });
});

test('a version lists its resources with their sub-resources', () => {
  const { resources } = apiResourceList(models, 'demo.example.com', 'v1') as { resources: Record<string, unknown>[] };
  const { storageVersionHash, ...gadgets } = resources[0]!;
  assert.deepEqual(gadgets, {
    name: 'gadgets',
    singularName: 'gadget',
    namespaced: false,
    kind: 'Gadget',
    verbs: allVerbs,
    shortNames: ['gd'],
    categories: ['all'],
  });
  assert.match(String(storageVersionHash), /^[A-Za-z0-9+/]{11}=$/);
  assert.deepEqual(resources.slice(1), [
    { name: 'gadgets/status', singularName: '', namespaced: false, kind: 'Gadget', verbs: changing },
    {
      name: 'gadgets/scale',
      singularName: '',
      namespaced: false,
      group: 'autoscaling',
      version: 'v1',
      kind: 'Scale',
      verbs: changing,
    },
  ]);
  assert.deepEqual(apiResourceList(models, 'a.example.com', 'v1'), {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: 'a.example.com/v1',
    resources: [{ name: 'tokens', singularName: 'token', namespaced: false, kind: 'Token', verbs: ['create'] }],
  });
});

test('the version of the core group is there without a model, others are not', () => {
  const none = { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'v1', resources: [] };
  assert.deepEqual(apiResourceList([], '', 'v1'), none);
  assert.equal(apiResourceList([], '', 'v2'), undefined);
  assert.equal(apiResourceList(models, 'demo.example.com', 'v2'), undefined);
});

test('one aggregated answer has all of it', () => {
  const { items, ...rest } = aggregated(models, 'apis', 'v2') as { items: { metadata: object; versions: unknown[] }[] };
  assert.deepEqual(rest, { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {} });
  assert.deepEqual(
    items.map(({ metadata }) => metadata),
    [
      { name: 'a.example.com', creationTimestamp: null },
      { name: 'demo.example.com', creationTimestamp: null },
    ],
  );
  const gadget = { group: 'demo.example.com', version: 'v1', kind: 'Gadget' };
  assert.deepEqual(items[1]!.versions[0], {
    version: 'v1',
    freshness: 'Current',
    resources: [
      {
        resource: 'gadgets',
        responseKind: gadget,
        scope: 'Cluster',
        singularResource: 'gadget',
        verbs: allVerbs,
        shortNames: ['gd'],
        categories: ['all'],
        subresources: [
          { subresource: 'status', responseKind: gadget, verbs: changing },
          {
            subresource: 'scale',
            responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
            verbs: changing,
          },
        ],
      },
    ],
  });
  const core = aggregated(models, 'api', 'v2beta1') as { items: { metadata: object; versions: object[] }[] };
  assert.deepEqual(core.items[0]!.metadata, { creationTimestamp: null });
  assert.equal(core.items.length, 1);
});
