/** A test for each command of kubectl that has something to do here. `run-clients.ts` runs them with other versions. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/testing/until.ts';
import { kindred } from '../cli/command.ts';
import { Facade, gadgets, widgets } from './harness.ts';
import { Kubectl, kubectlVersion } from './kubectl.ts';

const skip = kubectlVersion === undefined && 'this machine has no kubectl';
const minor = Number(kubectlVersion?.split('.')[1] ?? 0);
const since = (version: number) => ({ skip: minor < version && 'this kubectl does not know it' });

/** JSON in a command has no spaces. */
const argsOf = (command: string): string[] => command.split(' ');

const group = 'shop.example.com';
const apiVersion = `${group}/v1`;
const widget = (name: string, spec: object = {}, metadata: object = {}) =>
  JSON.stringify({ apiVersion, kind: 'Widget', metadata: { name, ...metadata }, spec });
const json = JSON.stringify;

describe('kubectl', { skip, timeout: 600_000 }, () => {
  const facade = new Facade();
  let kubectl: Kubectl;

  before(async () => {
    await facade.start();
    kubectl = new Kubectl(facade.url);
    await make('seen', { replicas: 3, color: 'red' }, { tier: 'gold' });
    await make('seen-2', { replicas: 1, color: 'blue' }, { tier: 'iron' });
  });
  after(async () => {
    kubectl?.close();
    await facade.stop();
  });

  async function make(name: string, spec: object = {}, labels: object = {}, more: object = {}): Promise<any> {
    const { status, json } = await facade.kube(widgets, { body: { metadata: { name, labels, ...more }, spec } });
    assert.equal(status, 201, JSON.stringify(json));
    return json;
  }
  const shown = async (name: string): Promise<any> => (await facade.kube(`${widgets}/${name}`)).json;
  const isThere = async (name: string) => (await facade.kube(`${widgets}/${name}`)).status === 200;

  const isWatching = async () => /^kindred_watches [1-9]/m.test((await facade.send('/metrics')).text);

  /** What it prints, when it succeeds. */
  async function ok(command: string, input?: string): Promise<string> {
    const { code, stdout, stderr } = await kubectl.run(argsOf(command), input);
    assert.equal(code, 0, `${command}: ${stderr}`);
    return stdout;
  }

  async function refused(command: string, input?: string): Promise<string> {
    const { code, stderr } = await kubectl.run(argsOf(command), input);
    assert.notEqual(code, 0, command);
    return stderr;
  }

  test('version', async () => {
    assert.match(await ok('version'), /v1\.33\.0\+kindred/);
  });

  test('cluster-info', async () => {
    assert.match(await ok('cluster-info'), /is running at .*http:\/\/127\.0\.0\.1:\d+\/kube/);
  });

  test('api-versions', async () => {
    const versions = (await ok('api-versions')).split('\n');
    for (const one of ['v1', 'events.k8s.io/v1', 'coordination.k8s.io/v1', 'apiextensions.k8s.io/v1', apiVersion]) {
      assert.ok(versions.includes(one), one);
    }
  });

  test('api-resources', async () => {
    const text = await ok(`api-resources --api-group=${group}`);
    assert.match(text, /widgets +wd +shop\.example\.com\/v1 +true +Widget/);
    const names = (await ok('api-resources --verbs=list --namespaced -o name')).split('\n');
    for (const one of ['widgets.shop.example.com', 'events', 'events.events.k8s.io', 'leases.coordination.k8s.io']) {
      assert.ok(names.includes(one), one);
    }
  });

  test('explain', async () => {
    assert.match(await ok('explain widgets.spec'), /replicas\s+<integer>/);
    assert.match(await ok('explain widgets.spec.replicas'), /replicas/);
  });

  test('explain --recursive', async () => {
    assert.match(await ok('explain widgets --recursive'), /conditions\s+<\[\]Object>\s+status\s+<string>/);
  });

  test('get', async () => {
    const table = /^NAME +REPLICAS +READY +AGE\nseen +3 +\d+s\nseen-2 +1 +\d+s\n$/;
    assert.match(await ok('get wd -l tier'), table);
    const missing = await refused('get wd none');
    assert.match(missing, /Error from server \(NotFound\): widgets\.shop\.example\.com "none" not found/);
  });

  test('get -o wide', async () => {
    assert.match(await ok('get wd -o wide'), /^NAME +REPLICAS +READY +COLOR +AGE\n/);
  });

  test('get -o yaml', async () => {
    assert.match(await ok('get wd seen -o yaml'), /\nspec:\n {2}color: red\n {2}replicas: 3\n/);
  });

  test('get -o json', async () => {
    assert.deepEqual(JSON.parse(await ok('get wd seen -o json')).spec, { replicas: 3, color: 'red' });
    assert.equal(JSON.parse(await ok('get wd -l tier -o json')).items.length, 2);
  });

  test('get -o name', async () => {
    const expected = 'widget.shop.example.com/seen\nwidget.shop.example.com/seen-2\n';
    assert.equal(await ok('get widgets -l tier -o name'), expected);
  });

  test('get -o jsonpath', async () => {
    assert.equal(await ok('get wd seen-2 -o jsonpath={.spec.color}'), 'blue');
  });

  test('get -o go-template', async () => {
    assert.equal(await ok('get wd seen-2 -o go-template={{.spec.color}}'), 'blue');
  });

  test('get -o custom-columns', async () => {
    const text = await ok('get wd -l tier -o custom-columns=N:.metadata.name,C:.spec.color');
    assert.match(text, /^N +C\nseen +red\nseen-2 +blue\n$/);
  });

  test('get -A', async () => {
    assert.match(await ok('get wd -A'), /^NAMESPACE +NAME[^\n]*\ndefault +seen /);
  });

  test('get -l', async () => {
    assert.equal(await ok('get wd -l tier=gold -o name'), 'widget.shop.example.com/seen\n');
    assert.equal(await ok('get wd -l tier,tier!=gold -o name'), 'widget.shop.example.com/seen-2\n');
  });

  test('get --field-selector', async () => {
    assert.equal(await ok('get wd --field-selector spec.color=blue -o name'), 'widget.shop.example.com/seen-2\n');
    assert.match(await refused('get wd --field-selector spec.none=x'), /field label not supported: spec\.none/);
  });

  test('get --sort-by', async () => {
    assert.match(await ok('get wd -l tier --sort-by=.spec.replicas'), /seen-2[\s\S]*seen /);
  });

  test('get --chunk-size', async () => {
    assert.equal((await ok('get wd -l tier --chunk-size=1 -o name')).split('\n').length, 3);
  });

  test('get --show-labels', async () => {
    assert.match(await ok('get wd --show-labels'), /tier=gold/);
  });

  async function watched(command: string, first: string | undefined, name: string): Promise<void> {
    const watch = kubectl.begin(argsOf(command));
    try {
      if (first) await until(() => watch.lines.some((line) => line.startsWith(first)), { timeout: 20_000 });
      // Whether it watches is seen by changes that it prints.
      await make(name, { replicas: 4 });
      const isTold = async () => {
        if (watch.lines.some((line) => line.startsWith(`${name} `))) return true;
        await facade.kube(`${widgets}/${name}`, { method: 'PATCH', headers: merge, body: { spec: { replicas: n++ } } });
        return false;
      };
      let n = 5;
      await until(isTold, { timeout: 20_000 });
    } finally {
      await watch.end();
    }
    if (!first) assert.ok(!watch.lines.some((line) => line.startsWith('seen ')), 'what was there before is not told');
  }

  const merge = { 'content-type': 'application/merge-patch+json' };

  test('get -w', () => watched('get wd -w', 'seen ', 'watched'));

  test('get --watch-only', () => watched('get wd --watch-only', undefined, 'watched-only'));

  test('get all', async () => {
    assert.match(await ok('get all'), /^(?:widget\.shop\.example\.com\/)?seen +3/m);
  });

  test('describe', async () => {
    const { metadata } = await make('told');
    const event = {
      metadata: { name: 'told.1' },
      involvedObject: { apiVersion, kind: 'Widget', namespace: 'default', name: 'told', uid: metadata.uid },
      type: 'Normal',
      reason: 'Polished',
      message: 'It shines',
      source: { component: 'polisher' },
      firstTimestamp: new Date().toISOString(),
      lastTimestamp: new Date().toISOString(),
      count: 2,
    };
    const { status } = await facade.kube('/api/v1/namespaces/default/events', { body: event });
    assert.equal(status, 201);
    const text = await ok('describe wd told');
    assert.match(text, /Name: +told\n/);
    assert.match(text, /Events:[\s\S]*Normal +Polished +.*polisher +It shines/);
    assert.match(await ok('describe wd seen'), /Replicas: +3/);
  });

  test('get events', async () => {
    for (const name of ['events', 'events.events.k8s.io']) {
      assert.match(await ok(`get ${name}`), /Normal +Polished +widget\/told +It shines/, name);
    }
  });

  test('events', since(26), async () => {
    assert.match(await ok('events --for widget/told'), /Normal +Polished +Widget\/told +It shines/);
  });

  test('create -f', async () => {
    assert.equal(
      await ok('create -f -', widget('created', { replicas: 1 })),
      'widget.shop.example.com/created created\n',
    );
    assert.match(await refused('create -f -', widget('created')), /AlreadyExists/);
    const wrong = await refused('create --validate=false -f -', widget('wrong', { replicas: -1 }));
    const text = /spec\.replicas: Invalid value: -1: spec\.replicas in body should be greater than or equal to 0/;
    assert.match(wrong, text);
  });

  test('create --validate', async () => {
    const body = widget('strict', { replicas: 1, unknown: 'x' });
    assert.match(await refused('create --validate=true -f -', body), /unknown/);
    assert.match(await ok('create --validate=false -f -', body), /created/);
    assert.deepEqual((await shown('strict')).spec, { replicas: 1 });
  });

  test('create namespace', async () => {
    assert.equal(await ok('create namespace made'), 'namespace/made created\n');
    assert.match(await ok('get ns made'), /made +Active/);
  });

  test('create configmap', async () => {
    await ok('create configmap made --from-literal=a=b');
    assert.equal(await ok('get cm made -o jsonpath={.data.a}'), 'b');
  });

  test('create secret', async () => {
    await ok('create secret generic made --from-literal=a=b');
    assert.equal(await ok('get secret made -o jsonpath={.data.a}'), Buffer.from('b').toString('base64'));
  });

  test('apply', async () => {
    assert.match(await ok('apply -f -', widget('applied', { replicas: 1, color: 'red' })), /created/);
    assert.match(await ok('apply -f -', widget('applied', { replicas: 1, color: 'red' })), /unchanged/);
    assert.match(await ok('apply -f -', widget('applied', { replicas: 2 })), /configured/);
    assert.deepEqual((await shown('applied')).spec, { replicas: 2 });
  });

  test('apply of a kind of Kubernetes', async () => {
    const map = (data: object, finalizers: string[] = []) =>
      json({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied', finalizers }, data });
    assert.match(await ok('apply -f -', map({ a: '1', b: '2' }, ['example.com/x', 'example.com/y'])), /created/);
    assert.match(await ok('apply -f -', map({ a: '3', c: '4' }, ['example.com/y'])), /configured/);
    const { data, metadata } = (await facade.kube('/api/v1/namespaces/default/configmaps/applied')).json;
    assert.deepEqual([data, metadata.finalizers], [{ a: '3', c: '4' }, ['example.com/y']]);
  });

  test('apply --dry-run=server', async () => {
    const text = await ok('apply --dry-run=server -f -', widget('applied', { replicas: 9 }));
    assert.match(text, /configured \(server dry run\)/);
    assert.equal((await shown('applied')).spec.replicas, 2);
  });

  test('apply --server-side', async () => {
    const text = await ok('apply --server-side --field-manager=one -f -', widget('owned', { replicas: 1 }));
    assert.match(text, /serverside-applied/);
    const [entry] = (await shown('owned')).metadata.managedFields;
    assert.deepEqual([entry.manager, entry.operation], ['one', 'Apply']);
  });

  test('apply --server-side --force-conflicts', async () => {
    const body = widget('owned', { replicas: 2 });
    const conflict = await refused('apply --server-side --field-manager=two -f -', body);
    assert.match(conflict, /conflict with "one".*\.spec\.replicas/);
    await ok('apply --server-side --field-manager=two --force-conflicts -f -', body);
    assert.equal((await shown('owned')).spec.replicas, 2);
  });

  test('diff', async () => {
    const { code, stdout } = await kubectl.run(['diff', '-f', '-'], widget('applied', { replicas: 5 }));
    assert.equal(code, 1, stdout);
    assert.match(stdout, /\+ {2}replicas: 5/);
  });

  test('edit', async () => {
    await ok('apply -f -', widget('edited', { color: 'red' }));
    assert.match(await ok('edit wd edited'), /edited/);
    assert.equal((await shown('edited')).spec.color, 'pink');
  });

  test('patch --type merge', async () => {
    await make('patched', { replicas: 1 });
    await ok(`patch wd patched --type merge -p ${json({ spec: { color: 'green' } })}`);
    assert.deepEqual((await shown('patched')).spec, { replicas: 1, color: 'green' });
  });

  test('patch --type json', async () => {
    await ok(`patch wd patched --type json -p ${json([{ op: 'replace', path: '/spec/replicas', value: 7 }])}`);
    assert.equal((await shown('patched')).spec.replicas, 7);
  });

  test('patch --type strategic', async () => {
    const words = await refused(`patch wd patched -p ${json({ spec: { color: 'x' } })}`);
    const texts =
      /strategic-merge-patch\+json is not supported|accepted media types include: application\/json-patch\+json/;
    assert.match(words, texts);
    await ok(`patch cm made -p ${json({ data: { c: 'd' } })}`);
    assert.equal(await ok('get cm made -o jsonpath={.data.c}'), 'd');
  });

  test('patch --subresource', since(24), async () => {
    await ok(`patch wd patched --subresource status --type merge -p ${json({ status: { replicas: 6 } })}`);
    assert.equal((await shown('patched')).status.replicas, 6);
    assert.match(await ok('get wd patched --subresource status'), /patched/);
  });

  test('replace', async () => {
    const object = await make('replaced', { color: 'red' });
    object.spec.color = 'pink';
    assert.match(await ok('replace -f -', json(object)), /replaced replaced/);
    assert.match(await refused('replace -f -', json(object)), /Conflict[\s\S]*the object has been modified/);
  });

  test('replace --force', async () => {
    const { uid } = (await shown('replaced')).metadata;
    assert.match(await ok('replace --force -f -', widget('replaced', { color: 'new' })), /deleted[\s\S]*replaced/);
    const { metadata, spec } = await shown('replaced');
    assert.notEqual(metadata.uid, uid);
    assert.equal(spec.color, 'new');
  });

  test('label', async () => {
    await ok('label wd patched a=b');
    assert.match(await refused('label wd patched a=c'), /already has a value/);
    await ok('label --overwrite wd patched a=c');
    assert.equal((await shown('patched')).metadata.labels.a, 'c');
    await ok('label wd patched a-');
    assert.equal((await shown('patched')).metadata.labels, undefined);
  });

  test('annotate', async () => {
    await ok('annotate wd patched note=x');
    assert.equal((await shown('patched')).metadata.annotations.note, 'x');
  });

  test('scale', async () => {
    assert.match(await ok('scale wd patched --replicas=5'), /scaled/);
    assert.match(await refused('scale wd patched --current-replicas=1 --replicas=8'), /Expected replicas to be 1/i);
    assert.equal((await shown('patched')).spec.replicas, 5);
  });

  test('wait --for=condition', async () => {
    await make('awaited');
    const waiting = ok('wait wd awaited --for=condition=Ready --timeout=30s');
    const body = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
    await facade.kube(`${widgets}/awaited/status`, { method: 'PATCH', headers: merge, body });
    assert.match(await waiting, /condition met/);
  });

  test('wait --for=jsonpath', since(23), async () => {
    assert.match(await ok('wait wd seen --for=jsonpath={.spec.replicas}=3 --timeout=10s'), /condition met/);
  });

  test('wait --for=delete', async () => {
    await make('leaving', {}, {}, { finalizers: ['shop.example.com/keep'] });
    const waiting = ok('wait wd leaving --for=delete --timeout=30s');
    await facade.kube(`${widgets}/leaving`, { method: 'DELETE' });
    await until(isWatching, { timeout: 20_000 });
    await facade.kube(`${widgets}/leaving`, {
      method: 'PATCH',
      headers: merge,
      body: { metadata: { finalizers: null } },
    });
    assert.match(await waiting, /condition met|^$/);
    assert.equal(await isThere('leaving'), false);
  });

  test('delete -f', async () => {
    await make('gone');
    assert.match(await ok('delete -f -', widget('gone')), /"gone" deleted/);
    assert.equal(await isThere('gone'), false);
    assert.match(await refused('delete wd gone'), /NotFound/);
    await ok('delete wd gone --ignore-not-found');
  });

  test('delete -l', async () => {
    for (const name of ['d1', 'd2']) await make(name, {}, { set: 'd' });
    assert.match(await ok('delete wd -l set=d'), /"d1" deleted[\s\S]*"d2" deleted/);
  });

  test('delete --wait', async () => {
    await facade.kube(gadgets, {
      body: { metadata: { name: 'held', finalizers: ['shop.example.com/keep'] }, spec: {} },
    });
    const deleting = ok('delete gadget held --wait --timeout=30s');
    await until(async () => (await facade.kube(`${gadgets}/held`)).json.metadata.deletionTimestamp !== undefined);
    await ok(`patch gadget held --type merge -p ${json({ metadata: { finalizers: null } })}`);
    assert.match(await deleting, /deleted/);
  });

  for (const policy of ['background', 'foreground', 'orphan']) {
    test(`delete --cascade=${policy}`, async () => {
      const owner = `${policy}-owner`;
      const { uid } = (await make(owner)).metadata;
      const reference = { apiVersion, kind: 'Widget', name: owner, uid, blockOwnerDeletion: true };
      await make(`${policy}-item`, {}, {}, { ownerReferences: [reference] });
      await ok(`delete wd ${owner} --cascade=${policy} --timeout=30s`);
      assert.equal(await isThere(owner), false);
      if (policy === 'foreground') assert.equal(await isThere('foreground-item'), false);
      if (policy === 'background') await until(async () => !(await isThere('background-item')));
      if (policy === 'orphan') assert.equal((await shown('orphan-item')).metadata.ownerReferences, undefined);
    });
  }

  test('delete --all', async () => {
    assert.match(await ok('delete wd --all'), /deleted/);
    assert.equal(await ok('get wd -o name'), '');
  });

  test('delete namespace', async () => {
    await ok('create -n made -f -', widget('inside'));
    assert.match(await ok('delete namespace made'), /"made" deleted/);
    assert.match(await refused('get wd inside -n made'), /NotFound/);
  });

  test('get --raw', async () => {
    assert.match(await ok('get --raw /kube/version'), /\+kindred/);
  });
});

describe('kubectl with a token, over https', { skip, timeout: 120_000 }, () => {
  const kubectl = new Kubectl();
  const tls = { cert: join(kubectl.home, 'tls.crt'), key: join(kubectl.home, 'tls.key') };
  const facade = new Facade({ auth: {}, tls });

  before(async () => {
    const made = spawnSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
        ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'],
        ...['-keyout', tls.key, '-out', tls.cert],
      ],
      { encoding: 'utf8' },
    );
    assert.equal(made.status, 0, made.stderr);
    await facade.start();
    const file = join(kubectl.home, 'config');
    const flags = ['--server', facade.url, '--token', facade.token!, '--ca', tls.cert, '-o', file];
    assert.deepEqual(await kindred(['kubeconfig', ...flags]), { code: 0, stdout: '', stderr: '' });
  });
  after(async () => {
    kubectl.close();
    await facade.stop();
  });

  const printed = async (command: string, expected = 0): Promise<string> => {
    const { code, stdout, stderr } = await kubectl.run(argsOf(command));
    assert.equal(code, expected, stderr);
    return stdout + stderr;
  };

  test('auth can-i', async () => {
    assert.match(await printed('auth can-i create widgets'), /^yes/);
    assert.match(await printed('auth can-i get /version'), /^yes/);
  });

  test('auth can-i --list', async () => {
    assert.match(await printed('auth can-i --list'), /\*\.\* +\[\] +\[\] +\[\*\]/);
  });

  test('auth whoami', since(28), async () => {
    assert.match(await printed('auth whoami'), /Username +admin/);
  });

  test('a token that is none', async () => {
    const stranger = new Kubectl();
    try {
      const flags = ['--server', facade.url, '--token', 'wrong', '--ca', tls.cert];
      const { stdout } = await kindred(['kubeconfig', ...flags]);
      writeFileSync(join(stranger.home, 'config'), stdout);
      const { code, stderr } = await stranger.run(['get', 'widgets']);
      assert.equal(code, 1);
      assert.match(stderr, /Unauthorized|must be logged in/);
    } finally {
      stranger.close();
    }
  });
});
