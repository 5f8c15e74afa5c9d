import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Facade, gadgets, widgets } from './harness.ts';
import { Kubectl, kubectlVersion } from './kubectl.ts';

const facade = new Facade();
before(() => facade.start());
after(() => facade.stop());

const apiVersion = 'shop.example.com/v1';
const headers = { 'content-type': 'application/apply-patch+yaml' };

function applied(name: string, query: string, spec: object, more: object = {}) {
  const body = { apiVersion, kind: 'Gadget', metadata: { name, ...more }, spec };
  return facade.kube(`${gadgets}/${name}?${query}`, { method: 'PATCH', headers, body });
}

describe('server-side apply through the façade', () => {
  test('creates, is refused for the fields of others, and takes them by force', async () => {
    const made = await applied('a', 'fieldManager=one', { color: 'red' });
    assert.equal(made.status, 201, JSON.stringify(made.json));
    const conflict = await applied('a', 'fieldManager=two', { color: 'blue' });
    assert.equal(conflict.status, 409);
    const { kind, reason, message, details } = conflict.json;
    assert.deepEqual(
      { kind, reason, message, details },
      {
        kind: 'Status',
        reason: 'Conflict',
        message: 'Apply failed with 1 conflict: conflict with "one": .spec.color',
        details: {
          name: 'a',
          group: 'shop.example.com',
          kind: 'gadgets',
          causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.spec.color' }],
        },
      },
    );
    for (const [force, color] of Object.entries({ 1: 'green', true: 'blue', True: 'pink' })) {
      const taken = await applied('a', `fieldManager=two${force}&force=${force}`, { color });
      assert.equal(taken.status, 200, JSON.stringify(taken.json));
    }
    const unchanged = await applied('a', 'fieldManager=twoTrue', { color: 'pink' });
    const again = await applied('a', 'fieldManager=twoTrue', { color: 'pink' });
    assert.deepEqual(again.json, unchanged.json);
  });

  test('a manager of updates is named with the version that it used', async () => {
    await facade.kube(`${gadgets}?fieldManager=editor`, { body: { metadata: { name: 'b' }, spec: { color: 'red' } } });
    const { json } = await applied('b', 'fieldManager=one', { color: 'blue' });
    assert.equal(json.message, `Apply failed with 1 conflict: conflict with "editor" using ${apiVersion}: .spec.color`);
  });

  test('managers of the core group are shown in it', async () => {
    const maps = '/api/v1/namespaces/default/configmaps';
    const metadata = { name: 'shown' };
    const made = await facade.kube(`${maps}?fieldManager=editor`, { body: { metadata, data: { a: '1' } } });
    assert.equal(made.json.metadata.managedFields[0].apiVersion, 'v1');
    const apply = (data: object, query = '') =>
      facade.kube(`${maps}/shown?fieldManager=one${query}`, {
        method: 'PATCH',
        headers,
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data },
      });
    const { json } = await apply({ a: '2' });
    assert.equal(json.message, 'Apply failed with 1 conflict: conflict with "editor" using v1: .data.a');
    assert.equal(json.details.causes[0].message, 'conflict with "editor" using v1');
    const forced = await apply({ a: '2' }, '&force=true');
    assert.deepEqual(
      forced.json.metadata.managedFields.map(({ manager, operation, apiVersion }: any) => [
        manager,
        operation,
        apiVersion,
      ]),
      [['one', 'Apply', 'v1']],
    );
  });

  test('what kubectl applied on its own side is its own for a server-side apply', async () => {
    const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
    const said = (spec: object, kept: object = {}) =>
      `${JSON.stringify({ apiVersion, kind: 'Gadget', metadata: { name: 'e', annotations: kept }, spec })}\n`;
    const spec = { color: 'red', size: 1 };
    const made = await facade.kube(`${gadgets}?fieldManager=kubectl-client-side-apply`, {
      body: { metadata: { name: 'e', annotations: { [annotation]: said(spec) } }, spec: { ...spec, note: 'x' } },
    });
    assert.equal(made.status, 201, made.text);
    await facade.kube(`${gadgets}/e?fieldManager=editor`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { spec: { size: 2 } },
    });
    const next = { color: 'blue', size: 3, note: 'y' };
    const other = await applied('e', 'fieldManager=other', next);
    assert.equal(other.json.details.causes.length, 3, other.text);
    // Somebody else changed the size, and the annotation says nothing of the note.
    const refused = await applied('e', 'fieldManager=kubectl', next);
    assert.deepEqual(
      refused.json.details.causes.map(({ field, message }: { field: string; message: string }) => [field, message]),
      [
        ['.spec.note', `conflict with "kubectl-client-side-apply" using ${apiVersion}`],
        ['.spec.size', `conflict with "editor" using ${apiVersion}`],
      ],
    );
    const taken = await applied('e', 'fieldManager=kubectl', { color: 'blue' });
    assert.equal(taken.status, 200, taken.text);
    assert.deepEqual(taken.json.spec, { color: 'blue', size: 2, note: 'x' });
    const { annotations } = taken.json.metadata;
    assert.deepEqual(JSON.parse(annotations[annotation]), JSON.parse(said({ color: 'blue' })));
    const large = await applied('e', 'fieldManager=kubectl', {
      color: 'blue',
      ports: [{ name: 's'.repeat(300_000), port: 1 }],
    });
    assert.deepEqual([large.status, large.json.metadata.annotations], [200, undefined]);
  });

  test('clients may write the managers of an object', async () => {
    const path = `${gadgets}/f?fieldManager=editor`;
    await facade.kube(`${gadgets}?fieldManager=editor`, { body: { metadata: { name: 'f' }, spec: { color: 'red' } } });
    const patch = async (value: unknown, more: object[] = []) => {
      const { status, text, json } = await facade.kube(path, {
        method: 'PATCH',
        headers: { 'content-type': 'application/json-patch+json' },
        body: [{ op: 'replace', path: '/metadata/managedFields', value }, ...more],
      });
      assert.equal(status, 200, text);
      return json.metadata;
    };
    const { metadata } = (await facade.kube(`${gadgets}/f`)).json;
    const [entry] = metadata.managedFields;
    const resourceVersion = { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion };
    const moved = [{ ...entry, manager: 'mover', operation: 'Apply' }];
    const written = await patch(moved, [resourceVersion]);
    assert.deepEqual(written.managedFields, moved);
    assert.notEqual(written.resourceVersion, metadata.resourceVersion);
    const gone = await applied('f', 'fieldManager=mover', { size: 1 });
    assert.deepEqual(gone.json.spec, { size: 1 });
    for (const wrong of [
      [],
      null,
      [{ ...entry, operation: 'Other' }],
      [{ ...entry, fieldsType: 'FieldsV2' }],
      [{ ...entry, fieldsV1: { 'f:spec': 1 } }],
      [{ ...entry, fieldsV1: { 'k:[': {} } }],
      [entry, entry],
    ]) {
      assert.deepEqual((await patch(wrong)).managedFields, gone.json.metadata.managedFields, JSON.stringify(wrong));
    }
    assert.equal((await patch([{}])).managedFields, undefined);
    const put = await facade.kube(path, {
      method: 'PUT',
      body: { ...gone.json, metadata: { name: 'f', resourceVersion: '' }, spec: { size: 2 } },
    });
    assert.equal(put.status, 422);
  });

  test('a dry run changes nothing, a resource version must be the current one', async () => {
    const made = await applied('c', 'fieldManager=one&dryRun=All', { color: 'red' });
    assert.equal(made.status, 201);
    assert.equal((await facade.kube(`${gadgets}/c`)).status, 404);
    await applied('c', 'fieldManager=one', { color: 'red' });
    const stale = await applied('c', 'fieldManager=one', { color: 'blue' }, { resourceVersion: '1' });
    assert.equal(stale.json.reason, 'Conflict');
  });

  test('what lacks a manager, a kind or an object is refused', async () => {
    const unnamed = await applied('d', '', {});
    assert.equal(unnamed.status, 422);
    assert.equal(unnamed.json.details.causes[0].field, 'fieldManager');
    const managed = await applied('d', 'fieldManager=one', {}, { managedFields: [] });
    assert.deepEqual([managed.status, managed.json.message], [400, 'metadata.managedFields must be nil']);
    const path = `${gadgets}/d?fieldManager=one`;
    for (const body of [{ apiVersion, metadata: { name: 'd' } }, []]) {
      assert.equal((await facade.kube(path, { method: 'PATCH', headers, body })).status, 400);
    }
  });

  test('makes no object in a namespace that is not there, or that is going', async () => {
    const apply = (namespace: string) =>
      facade.kube(`${widgets.replace('default', namespace)}/w?fieldManager=one`, {
        method: 'PATCH',
        headers,
        body: { apiVersion, kind: 'Widget', metadata: { name: 'w' }, spec: {} },
      });
    const { status, json } = await apply('nowhere');
    assert.deepEqual([status, json.message], [404, 'namespaces "nowhere" not found']);
    const body = { metadata: { name: 'going', finalizers: ['example.com/wait'] } };
    assert.equal((await facade.kube('/api/v1/namespaces', { body })).status, 201);
    await facade.kube('/api/v1/namespaces/going', { method: 'DELETE' });
    const refused = await apply('going');
    assert.equal(refused.status, 403);
    assert.equal(
      refused.json.message,
      'widgets.shop.example.com "w" is forbidden: unable to create new content in namespace going because it is being terminated',
    );
    assert.deepEqual(refused.json.details, {
      name: 'w',
      group: 'shop.example.com',
      kind: 'widgets',
      causes: [
        {
          reason: 'NamespaceTerminating',
          message: 'namespace going is being terminated',
          field: 'metadata.namespace',
        },
      ],
    });
  });
});

const skip = kubectlVersion === undefined && 'this machine has no kubectl';

describe('kubectl apply --server-side', { skip, timeout: 300_000 }, () => {
  let kubectl: Kubectl;
  before(() => {
    kubectl = new Kubectl(facade.url);
  });
  after(() => kubectl?.close());

  const widget = (spec: object) => JSON.stringify({ apiVersion, kind: 'Widget', metadata: { name: 'k' }, spec });
  const run = (args: string, input: string) => kubectl.run(args.split(' '), input);

  test('applies, is told of conflicts, forces, and shows what it would change', async () => {
    const made = await run('apply --server-side -f -', widget({ replicas: 1, color: 'red' }));
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /widget\.shop\.example\.com\/k serverside-applied/);
    const other = 'apply --server-side --field-manager=other -f -';
    const refused = await run(other, widget({ replicas: 2 }));
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /Apply failed with 1 conflict: conflict with "kubectl": \.spec\.replicas/);
    const shown = await run('diff --server-side --force-conflicts --field-manager=other -f -', widget({ replicas: 2 }));
    assert.equal(shown.code, 1, shown.stderr);
    assert.match(shown.stdout, /- {2}replicas: 1\n\+ {2}replicas: 2/);
    const forced = await run(`${other} --force-conflicts`, widget({ replicas: 2 }));
    assert.equal(forced.code, 0, forced.stderr);
    const gone = await run('apply --server-side --force-conflicts -f -', widget({ replicas: 3 }));
    assert.equal(gone.code, 0, gone.stderr);
    const { json } = await facade.kube(`${widgets}/k`);
    assert.deepEqual(json.spec, { replicas: 3 });
  });

  test('goes on with what apply without it made', async () => {
    const named = (spec: object) => JSON.stringify({ apiVersion, kind: 'Widget', metadata: { name: 'm' }, spec });
    const made = await run('apply -f -', named({ replicas: 1, color: 'red' }));
    assert.equal(made.code, 0, made.stderr);
    const taken = await run('apply --server-side -f -', named({ replicas: 2 }));
    assert.deepEqual([taken.code, taken.stderr], [0, '']);
    const { spec, metadata } = (await facade.kube(`${widgets}/m`)).json;
    const managers = metadata.managedFields.map(
      ({ manager, operation }: { manager: string; operation: string }) => `${manager} ${operation}`,
    );
    // Newer ones take over what was applied before, so that what is no longer in the file goes.
    const isMigrated = Number(kubectlVersion!.split('.')[1]) >= 26;
    assert.deepEqual(spec, isMigrated ? { replicas: 2 } : { replicas: 2, color: 'red' });
    if (isMigrated) assert.deepEqual(managers.toSorted(), ['kubectl Apply', 'kubectl-last-applied Apply']);
    const back = await run('apply -f -', named({ replicas: 3 }));
    assert.equal(back.code, 0, back.stderr);
    const again = await run('apply --server-side -f -', named({ replicas: 4 }));
    assert.deepEqual([again.code, again.stderr], [0, '']);
  });
});
