/** The kinds of Kubernetes itself, owners and their dependents, reviews, discovery over HTTP. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Harness } from 'kindred/testing';
import { FakeClock, startHarness } from 'kindred/testing';

const core = '/kube/api/v1';

interface Shown {
  metadata: { name: string; uid: string; finalizers?: string[]; ownerReferences?: { uid: string }[] };
  [member: string]: any;
}

let harness: Harness;

async function send(method: string, path: string, json?: unknown, headers: Record<string, string> = {}) {
  const type = { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' };
  const response = await harness.fetch(path, {
    method,
    ...(json !== undefined && { json }),
    headers: { ...type, ...headers },
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: (text.startsWith('{') ? JSON.parse(text) : text) as any,
  };
}

const make = async (path: string, object: object): Promise<Shown> => {
  const { status, body } = await send('POST', path, object);
  assert.equal(status, 201, JSON.stringify(body));
  return body;
};
const isThere = async (path: string) => (await send('GET', path)).status === 200;

describe('kinds of Kubernetes', () => {
  const clock = new FakeClock();
  before(async () => {
    harness = await startHarness({ clock, kube: { eventTtl: 60_000 } });
  });
  after(() => harness.stop());

  /** Time goes on until it is so: tasks of the collector wait between attempts. */
  const eventually = (condition: () => Promise<boolean>) =>
    harness.until(async () => {
      await clock.advance(1_000);
      return condition();
    });

  test('the Namespace default is there from the beginning, and stays', async () => {
    const { body } = await send('GET', `${core}/namespaces/default`);
    assert.equal(body.metadata.labels['kubernetes.io/metadata.name'], 'default');
    assert.deepEqual([body.spec, body.status], [{ finalizers: ['kubernetes'] }, { phase: 'Active' }]);
    const { status, body: refused } = await send('DELETE', `${core}/namespaces/default`);
    assert.deepEqual([status, refused.reason], [403, 'Forbidden']);
    assert.equal(refused.message, 'namespaces "default" is forbidden: this namespace may not be deleted');
    assert.deepEqual(refused.details, { name: 'default', group: '', kind: 'namespaces' });
  });

  test('Namespaces are deleted one by one', async () => {
    assert.equal((await send('DELETE', `${core}/namespaces`)).status, 405);
    const { body } = await send('GET', core);
    const { verbs } = body.resources.find(({ name }: { name: string }) => name === 'namespaces');
    assert.deepEqual(verbs, ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch']);
  });

  test('the name of a Namespace is a DNS label', async () => {
    for (const name of ['a.b', 'a'.repeat(64)]) {
      const { status, body } = await send('POST', `${core}/namespaces`, { metadata: { name } });
      assert.deepEqual([status, body.details.causes[0].field], [422, 'metadata.name'], name);
    }
  });

  test('objects are made in Namespaces that are there', async () => {
    const { status, body } = await send('POST', `${core}/namespaces/nowhere/configmaps`, { metadata: { name: 'a' } });
    assert.deepEqual([status, body.reason, body.message], [404, 'NotFound', 'namespaces "nowhere" not found']);
    assert.deepEqual(body.details, { name: 'nowhere', kind: 'namespaces' });
  });

  test('a Namespace that is deleted goes when nothing is left in it, and takes nothing new meanwhile', async () => {
    await make(`${core}/namespaces`, { metadata: { name: 'team' } });
    const inside = `${core}/namespaces/team/configmaps`;
    await make(inside, { metadata: { name: 'plain' } });
    await make(inside, { metadata: { name: 'held', finalizers: ['example.com/wait'] } });
    const { body: leaving } = await send('DELETE', `${core}/namespaces/team`);
    assert.ok(leaving.metadata.deletionTimestamp);
    assert.equal(leaving.status.phase, 'Terminating');
    await eventually(async () => !(await isThere(`${inside}/plain`)));
    const { body: held } = await send('GET', `${core}/namespaces/team`);
    assert.equal(held.status.phase, 'Terminating');
    const { status, body } = await send('POST', inside, { metadata: { name: 'late' } });
    assert.deepEqual([status, body.reason], [403, 'Forbidden']);
    assert.equal(body.details.causes[0].reason, 'NamespaceTerminating');
    await send('PATCH', `${inside}/held`, { metadata: { finalizers: null } });
    await eventually(async () => !(await isThere(`${core}/namespaces/team`)));
  });

  test('dependents go with the last of their owners', async () => {
    const maps = `${core}/namespaces/default/configmaps`;
    const owners = await Promise.all(['one', 'two'].map((name) => make(maps, { metadata: { name } })));
    const references = owners.map(({ metadata: { name, uid } }) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name,
      uid,
    }));
    await make(maps, { metadata: { name: 'of-both', ownerReferences: references } });
    await make(maps, { metadata: { name: 'of-one', ownerReferences: references.slice(0, 1) } });
    await make(maps, { metadata: { name: 'of-unknown', ownerReferences: [{ ...references[0], kind: 'Nothing' }] } });
    await send('DELETE', `${maps}/one`);
    await eventually(async () => !(await isThere(`${maps}/of-one`)));
    await eventually(async () => {
      const { body } = await send('GET', `${maps}/of-both`);
      return body.metadata.ownerReferences.length === 1;
    });
    await send('DELETE', `${maps}/two`);
    await eventually(async () => !(await isThere(`${maps}/of-both`)));
    assert.ok(await isThere(`${maps}/of-unknown`));
  });

  test('a dependent of an owner that was never there goes', async () => {
    const maps = `${core}/namespaces/default/configmaps`;
    const nobody = { apiVersion: 'v1', kind: 'ConfigMap', name: 'nobody', uid: 'no-uid' };
    await make(maps, { metadata: { name: 'stray', ownerReferences: [nobody] } });
    await eventually(async () => !(await isThere(`${maps}/stray`)));
  });

  test('Orphan leaves the dependents, Foreground waits for those that block', async () => {
    const maps = `${core}/namespaces/default/configmaps`;
    const family = async (name: string, dependent: object) => {
      const { metadata } = await make(maps, { metadata: { name } });
      const reference = { apiVersion: 'v1', kind: 'ConfigMap', name, uid: metadata.uid, blockOwnerDeletion: true };
      await make(maps, { metadata: { name: `of-${name}`, ownerReferences: [reference], ...dependent } });
    };
    await family('left', {});
    await send('DELETE', `${maps}/left?propagationPolicy=Orphan`);
    await eventually(async () => !(await isThere(`${maps}/left`)));
    const { body } = await send('GET', `${maps}/of-left`);
    assert.equal(body.metadata.ownerReferences, undefined);

    await family('front', { finalizers: ['example.com/wait'] });
    const { body: leaving } = await send('DELETE', `${maps}/front?propagationPolicy=Foreground`);
    assert.deepEqual(leaving.metadata.finalizers, ['foregroundDeletion']);
    await eventually(async () => {
      const { body: dependent } = await send('GET', `${maps}/of-front`);
      return dependent.metadata.deletionTimestamp !== undefined;
    });
    await clock.advance(5_000);
    assert.ok(await isThere(`${maps}/front`));
    await send('PATCH', `${maps}/of-front`, { metadata: { finalizers: null } });
    await eventually(async () => !(await isThere(`${maps}/front`)));
  });

  test('a foreground deletion does not wait for a dependent that another owner keeps, or that is let go', async () => {
    const maps = `${core}/namespaces/default/configmaps`;
    const owners = await Promise.all(['going', 'staying'].map((name) => make(maps, { metadata: { name } })));
    const references = owners.map(({ metadata: { name, uid } }) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name,
      uid,
      blockOwnerDeletion: true,
    }));
    const [going, staying] = references;
    await make(maps, { metadata: { name: 'of-two', ownerReferences: references } });
    await send('DELETE', `${maps}/going?propagationPolicy=Foreground`);
    await eventually(async () => !(await isThere(`${maps}/going`)));
    const { body } = await send('GET', `${maps}/of-two`);
    assert.deepEqual(body.metadata.ownerReferences, [staying]);
    assert.notDeepEqual(staying, going);

    const finalizers = ['example.com/wait'];
    await make(maps, { metadata: { name: 'slow', finalizers, ownerReferences: [staying] } });
    await send('PATCH', `${maps}/of-two`, { metadata: { ownerReferences: null } });
    await send('DELETE', `${maps}/staying?propagationPolicy=Foreground`);
    await eventually(async () => (await send('GET', `${maps}/slow`)).body.metadata.deletionTimestamp !== undefined);
    assert.ok(await isThere(`${maps}/staying`));
    await send('PATCH', `${maps}/slow`, { metadata: { ownerReferences: [{ ...staying, blockOwnerDeletion: false }] } });
    await eventually(async () => !(await isThere(`${maps}/staying`)));
    assert.ok(await isThere(`${maps}/slow`));
  });

  test('an object in no namespace that names an owner in one is left alone', async () => {
    const maps = `${core}/namespaces/default/configmaps`;
    const { metadata } = await make(maps, { metadata: { name: 'inside' } });
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'inside', uid: metadata.uid };
    const gone = { apiVersion: 'v1', kind: 'Namespace', name: 'gone', uid: 'no-uid' };
    await make(`${core}/namespaces`, { metadata: { name: 'outside', ownerReferences: [owner, gone] } });
    await eventually(async () => {
      const { body } = await send('GET', `${core}/namespaces/outside`);
      return body.metadata.deletionTimestamp !== undefined || body.metadata.ownerReferences.length === 1;
    });
    const { body } = await send('GET', `${core}/namespaces/outside`);
    assert.deepEqual([body.metadata.ownerReferences, body.metadata.deletionTimestamp], [[owner], undefined]);
  });

  test('Events go when they were not seen for a while', async () => {
    const events = `${core}/namespaces/default/events`;
    const at = (after: number) => new Date(clock.now() + after).toISOString();
    const involvedObject = { kind: 'City', name: 'bern' };
    await make(events, { metadata: { name: 'old' }, involvedObject, lastTimestamp: at(-59_000), eventTime: null });
    await make(events, { metadata: { name: 'fresh' }, involvedObject, lastTimestamp: at(0) });
    await make(events, {
      metadata: { name: 'seen' },
      involvedObject,
      series: { count: 2, lastObservedTime: at(600_000) },
    });
    const { body } = await send('GET', `${events}?fieldSelector=involvedObject.name=bern,involvedObject.kind=City`);
    assert.equal(body.items.length, 3);
    await eventually(async () => !(await isThere(`${events}/old`)));
    assert.ok(await isThere(`${events}/fresh`));
    assert.ok(await isThere(`${events}/seen`));
  });

  test('Events of both groups are the same objects', async () => {
    const place = '/namespaces/default/events';
    const other = '/kube/apis/events.k8s.io/v1';
    const told = await make(`${other}${place}`, {
      metadata: { name: 'new' },
      eventTime: '2026-01-02T03:04:05.123456Z',
      regarding: { kind: 'Widget', name: 'w', namespace: 'default' },
      note: 'It began',
      reason: 'Began',
      type: 'Normal',
      reportingController: 'shop.example.com/keeper',
      deprecatedFirstTimestamp: null,
    });
    assert.deepEqual([told.kind, told.apiVersion], ['Event', 'events.k8s.io/v1']);
    const { body: seen } = await send('GET', `${core}${place}/new`);
    const { regarding, note, reportingController, deprecatedFirstTimestamp, metadata, ...same } = told;
    assert.deepEqual(seen, {
      ...same,
      apiVersion: 'v1',
      metadata,
      involvedObject: regarding,
      message: note,
      reportingComponent: reportingController,
      firstTimestamp: deprecatedFirstTimestamp,
    });
    const lastObservedTime = new Date(clock.now() - 30_000).toISOString();
    const series = { count: 2, lastObservedTime };
    const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
    const patched = await send('PATCH', `${other}${place}/new`, { series, note: 'Again' }, strategic);
    assert.deepEqual([patched.status, patched.body.note, patched.body.series], [200, 'Again', series]);
    assert.equal((await send('GET', `${core}${place}/new`)).body.message, 'Again');

    await make(`${core}${place}`, {
      metadata: { name: 'old' },
      involvedObject: { kind: 'Widget', name: 'v' },
      message: 'It ended',
      source: { component: 'old-keeper' },
      count: 3,
    });
    const { body: old } = await send('GET', `${other}${place}/old`);
    assert.deepEqual(
      [old.regarding, old.note, old.deprecatedSource, old.deprecatedCount, old.message],
      [{ kind: 'Widget', name: 'v' }, 'It ended', { component: 'old-keeper' }, 3, undefined],
    );
    const names = async (path: string) => (await send('GET', path)).body.items.map((one: Shown) => one.metadata.name);
    assert.deepEqual(await names(`${other}${place}?fieldSelector=regarding.name=w,regarding.kind=Widget`), ['new']);
    assert.deepEqual(await names(`${core}${place}?fieldSelector=source=shop.example.com/keeper`), ['new']);
    assert.deepEqual(await names(`${other}/events?fieldSelector=reportingController=shop.example.com/keeper`), ['new']);
    assert.equal((await send('GET', `${other}${place}?fieldSelector=nothing=w`)).status, 400);
    const { body: strict } = await send('POST', `${other}${place}?fieldValidation=Strict`, { message: 'x' });
    assert.match(strict.message, /unknown field "message"/);
    const accept = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    for (const path of [core, other]) {
      const { body: table } = await send('GET', `${path}${place}?fieldSelector=reason=Began`, undefined, accept);
      assert.deepEqual(table.rows[0].cells.slice(2, 6), ['Normal', 'Began', 'widget/w', 'Again']);
      assert.equal(table.rows[0].cells[1], '30s');
    }
    const { body: review } = await send('POST', '/kube/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
      spec: {
        resourceAttributes: { verb: 'create', group: 'events.k8s.io', resource: 'events', namespace: 'default' },
      },
    });
    assert.equal(review.status.allowed, true);
    assert.equal((await send('DELETE', `${other}${place}/old`)).status, 200);
    assert.equal(await isThere(`${core}${place}/old`), false);
  });

  test('kinds of Kubernetes take strategic merge patches, as their clients send them', async () => {
    const path = `${core}/namespaces/default/configmaps`;
    const metadata = { name: 'patched', finalizers: ['example.com/a'] };
    await make(path, { metadata, data: { a: '1', b: '2' } });
    const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
    const patch = { metadata: { finalizers: ['example.com/b'] }, data: { a: null, c: '3' } };
    const { status, body } = await send('PATCH', `${path}/patched`, patch, strategic);
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual([body.data, body.metadata.finalizers], [{ b: '2', c: '3' }, ['example.com/a', 'example.com/b']]);
    const wrong = await send('PATCH', `${path}/patched`, { data: { $patch: 'mix' } }, strategic);
    assert.deepEqual([wrong.status, wrong.body.reason], [400, 'BadRequest']);
    const removal = { metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a', 'example.com/b'] } };
    assert.equal((await send('PATCH', `${path}/patched`, removal, strategic)).body.metadata.finalizers, undefined);
  });

  test('a Secret is shown with its values here, and without them in native lists', async () => {
    const secrets = `${core}/namespaces/default/secrets`;
    const made = await make(secrets, { metadata: { name: 'mail' }, stringData: { password: 'x' } });
    assert.deepEqual([made.type, made.data, made.stringData], ['Opaque', { password: 'eA==' }, undefined]);
    assert.deepEqual((await send('GET', secrets)).body.items[0].data, { password: 'eA==' });
    const native = '/apis/core.kube.platform.run/v1/namespaces/default/secrets';
    assert.deepEqual((await send('GET', native)).body.items[0].data, { password: '' });
    const watch = await harness.fetch(`${secrets}?watch=true&timeoutSeconds=1`);
    const [first] = (await watch.text()).split('\n');
    assert.deepEqual(JSON.parse(first!).object.data, { password: 'eA==' });
    const { status } = await send('PUT', `${secrets}/mail`, { ...made, type: 'other' });
    assert.equal(status, 422);
  });

  test('null is as none', async () => {
    const inside = `${core}/namespaces/default`;
    const metadata = { name: 'nulls', labels: null, finalizers: null };
    const map = await make(`${inside}/configmaps`, { metadata, data: null, binaryData: null, immutable: null });
    for (const one of ['data', 'binaryData', 'immutable']) assert.ok(!(one in map), one);
    const { uid } = map.metadata;
    const owner = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: 'nulls',
      uid,
      controller: null,
      blockOwnerDeletion: null,
    };
    const secret = await make(`${inside}/secrets`, {
      metadata: { name: 'nulls', ownerReferences: [owner] },
      stringData: null,
      type: null,
    });
    assert.deepEqual(secret.metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'nulls', uid }]);
    assert.equal(secret.type, 'Opaque');
    const leases = '/kube/apis/coordination.k8s.io/v1/namespaces/default/leases';
    const lease = await make(leases, { metadata: { name: 'nulls' }, spec: { holderIdentity: null, renewTime: null } });
    assert.deepEqual(lease.spec, { renewTime: null });
    const { status } = await send('POST', `${inside}/configmaps`, { metadata: { name: 'x' }, data: { a: null } });
    assert.equal(status, 422);
  });

  test('what is immutable does not change, and there is no Service', async () => {
    const maps = `${core}/namespaces/default/configmaps`;
    await make(maps, { metadata: { name: 'fixed' }, data: { a: 'b' }, immutable: true });
    const { status, body } = await send('PATCH', `${maps}/fixed`, { data: { a: 'c' } });
    assert.deepEqual([status, body.reason], [422, 'Invalid']);
    const message = 'Forbidden: field is immutable when `immutable` is set';
    assert.deepEqual(body.details.causes, [{ reason: 'FieldValueForbidden', message, field: 'data' }]);
    const unmarked = await send('PATCH', `${maps}/fixed`, { data: { a: 'c' }, immutable: null });
    assert.deepEqual([unmarked.status, unmarked.body.reason], [422, 'Invalid']);
    assert.equal((await send('PATCH', `${maps}/fixed`, { metadata: { labels: { a: 'b' } } })).status, 200);
    assert.deepEqual((await send('GET', `${core}/services`)).body.items, []);
    assert.equal((await send('POST', `${core}/namespaces/default/services`, { metadata: { name: 'x' } })).status, 405);
  });

  test('a Lease keeps the digits of its times', async () => {
    const leases = '/kube/apis/coordination.k8s.io/v1/namespaces/default/leases';
    const spec = { holderIdentity: 'a', renewTime: '2026-01-02T03:04:05.123456Z', leaseTransitions: 0 };
    const { spec: kept } = await make(leases, { metadata: { name: 'a' }, spec });
    assert.deepEqual(kept, spec);
  });
});

describe('discovery, reviews and who may ask', () => {
  before(async () => {
    harness = await startHarness({ auth: {} });
  });
  after(() => harness.stop());

  const review = (kind: string, spec?: object, headers = {}) => {
    const [group, plural] =
      kind === 'SelfSubjectReview'
        ? ['authentication', 'selfsubjectreviews']
        : ['authorization', `${kind.toLowerCase()}s`];
    return send(
      'POST',
      `/kube/apis/${group}.k8s.io/v1/${plural}`,
      { kind, apiVersion: `${group}.k8s.io/v1`, spec },
      headers,
    );
  };

  async function tokenOf(name: string, rules: object[], bindings: object = {}): Promise<string> {
    const native = '/api/v1alpha1';
    await send('POST', `${native}/users`, { metadata: { name } });
    await send('POST', `${native}/roles`, { metadata: { name: `r-${name}` }, rules });
    const subjects = [{ kind: 'User', name }];
    const bound = await send('POST', `${native}/rolebindings`, {
      metadata: { name },
      roleRef: { kind: 'Role', name: `r-${name}` },
      subjects,
      ...bindings,
    });
    assert.equal(bound.status, 201, JSON.stringify(bound.body));
    const made = await send('POST', `${native}/personalaccesstokens`, { metadata: { name }, spec: { user: name } });
    return made.body.status.token;
  }

  test('nobody learns anything without a token', async () => {
    for (const path of ['/api', '/apis', '/openapi/v2', '/openapi/v3', '/apis/demo.example.com', '/nothing']) {
      const response = await fetch(`${harness.url}/kube${path}`);
      assert.equal(response.status, 401, path);
      assert.equal(((await response.json()) as { reason: string }).reason, 'Unauthorized');
    }
    for (const path of ['/kube/version', '/kube/version/']) {
      assert.equal((await fetch(`${harness.url}${path}`)).status, 200, path);
    }
    assert.equal((await send('GET', '/kube/apis/')).body.kind, 'APIGroupList');
    assert.equal((await send('GET', `${core}/namespaces/`)).body.kind, 'NamespaceList');
  });

  test('discovery is aggregated for those who ask for it first, and has an entity tag', async () => {
    const type = (v: string) => `application/json;g=apidiscovery.k8s.io;v=${v};as=APIGroupDiscoveryList`;
    const both = await send('GET', '/kube/apis', undefined, {
      accept: `${type('v2')},${type('v2beta1')},application/json`,
    });
    assert.equal(both.headers.get('content-type'), type('v2'));
    assert.equal(both.body.kind, 'APIGroupDiscoveryList');
    const older = await send('GET', '/kube/api', undefined, { accept: `${type('v2beta1')},application/json` });
    assert.equal(older.body.apiVersion, 'apidiscovery.k8s.io/v2beta1');
    const plain = await send('GET', '/kube/apis', undefined, { accept: `application/json,${type('v2')}` });
    assert.equal(plain.body.kind, 'APIGroupList');
    const etag = plain.headers.get('etag')!;
    assert.equal((await send('GET', '/kube/apis', undefined, { 'if-none-match': etag })).status, 304);
    assert.equal((await send('GET', '/kube/apis', undefined, { accept: 'text/html' })).status, 406);
    assert.equal((await send('GET', '/kube/apis/none.example.com')).body.reason, 'NotFound');
    assert.equal((await send('POST', '/kube/apis', {})).status, 405);
  });

  test('a document is kept for ever by its hash, and version 2 comes as protobuf under a name that Go can read', async () => {
    const { body: index } = await send('GET', '/kube/openapi/v3');
    const { serverRelativeURL } = index.paths['api/v1'];
    const named = await send('GET', serverRelativeURL);
    assert.match(named.headers.get('cache-control')!, /immutable/);
    const unnamed = await send('GET', '/kube/openapi/v3/api/v1');
    assert.doesNotMatch(unnamed.headers.get('cache-control')!, /immutable/);
    assert.equal(unnamed.headers.get('etag'), named.headers.get('etag'));
    const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
    const message = await send('GET', '/kube/openapi/v2', undefined, { accept });
    assert.equal(message.headers.get('content-type'), 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf');
    assert.equal(message.headers.get('vary'), 'Accept');
    assert.equal(
      (await send('GET', '/kube/openapi/v2', undefined, { accept, 'if-none-match': message.headers.get('etag')! }))
        .status,
      304,
    );
    assert.equal((await send('GET', '/kube/openapi/v2')).body.swagger, '2.0');
  });

  test('a caller learns what they may do, and who they are', async () => {
    const rules = [
      { apiGroups: ['core.kube.platform.run'], resources: ['configmaps'], verbs: ['get', 'delete'] },
      {
        apiGroups: ['core.kube.platform.run'],
        resources: ['secrets'],
        resourceNames: ['mail'],
        verbs: ['get', 'list'],
      },
    ];
    const headers = { authorization: `Bearer ${await tokenOf('ada', rules, { namespaces: ['default'] })}` };
    const may = async (attributes: object) => {
      const { status, body } = await review('SelfSubjectAccessReview', { resourceAttributes: attributes }, headers);
      assert.equal(status, 201, JSON.stringify(body));
      return body.status.allowed;
    };
    const namespace = 'default';
    assert.equal(await may({ verb: 'get', resource: 'configmaps', namespace }), true);
    assert.equal(await may({ verb: 'get', resource: 'configmaps', namespace: 'other' }), false);
    assert.equal(await may({ verb: 'get', resource: 'configmaps' }), false);
    assert.equal(await may({ verb: 'create', resource: 'configmaps', namespace }), false);
    assert.equal(await may({ verb: 'deletecollection', resource: 'configmaps', namespace }), false);
    assert.equal(await may({ verb: 'get', resource: 'secrets', namespace }), false);
    assert.equal(await may({ verb: 'get', resource: 'secrets', name: 'mail', namespace }), true);
    assert.equal(await may({ verb: 'list', resource: 'secrets', namespace }), true);
    assert.equal(await may({ verb: '*', group: '*', resource: '*', namespace }), false);
    const path = { nonResourceAttributes: { verb: 'get', path: '/openapi/v2' } };
    assert.equal((await review('SelfSubjectAccessReview', path, headers)).body.status.allowed, true);
    const { body } = await review('SelfSubjectRulesReview', { namespace }, headers);
    assert.deepEqual(body.status.resourceRules, [
      { verbs: ['delete', 'get'], apiGroups: [''], resources: ['configmaps'] },
      { verbs: ['get', 'list'], apiGroups: [''], resources: ['secrets'], resourceNames: ['mail'] },
    ]);
    assert.equal(body.status.incomplete, false);
    const { body: who } = await review('SelfSubjectReview', undefined, headers);
    const { username, uid, groups } = who.status.userInfo;
    assert.equal(username, 'ada');
    assert.match(uid, /^[0-9a-f]{8}-/);
    assert.ok(groups.includes('r-ada') && groups.includes('system:authenticated'));
  });

  test('whoever may do everything has one rule', async () => {
    const { body } = await review('SelfSubjectRulesReview', { namespace: 'default' });
    assert.deepEqual(body.status.resourceRules, [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]);
    assert.deepEqual(body.status.nonResourceRules, [{ verbs: ['*'], nonResourceURLs: ['*'] }]);
  });

  test('a question that is none is refused', async () => {
    assert.equal((await review('SelfSubjectAccessReview', {})).status, 422);
    assert.equal((await review('SelfSubjectRulesReview', {})).status, 422);
    assert.equal((await review('SelfSubjectAccessReview', { resourceAttributes: 'x' })).status, 400);
    assert.equal(
      (await send('POST', '/kube/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { kind: 'Pod' })).status,
      400,
    );
    assert.equal((await send('GET', '/kube/apis/authorization.k8s.io/v1/selfsubjectaccessreviews')).status, 405);
  });
});
