import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/testing/until.ts';
import { Facade, gadgets, widgets } from './harness.ts';
import { Kubectl, kubectlVersion } from './kubectl.ts';

const skip = kubectlVersion === undefined && 'this machine has no kubectl';
const minor = Number(kubectlVersion?.split('.')[1] ?? 0);

describe('kubectl', { skip, timeout: 300_000 }, () => {
  const facade = new Facade();
  let kubectl: Kubectl;

  before(async () => {
    await facade.start();
    kubectl = new Kubectl(facade.url);
  });
  after(async () => {
    kubectl?.close();
    await facade.stop();
  });

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

  const widget = (name: string, spec: object, labels?: object) =>
    JSON.stringify({ apiVersion: 'shop.example.com/v1', kind: 'Widget', metadata: { name, labels }, spec });

  test('version, api-resources, explain', async () => {
    assert.match(await ok('version'), /v1\.33\.0\+kindred/);
    assert.match(
      await ok('api-resources --api-group=shop.example.com'),
      /widgets +wd +shop\.example\.com\/v1 +true +Widget/,
    );
    assert.match(await ok('explain widgets.spec'), /replicas\s+<integer>/);
  });

  test('create, get in every form, by label, by field, sorted, in chunks', async () => {
    assert.equal(
      await ok('create -f -', widget('w1', { replicas: 3, color: 'red' }, { tier: 'gold' })),
      'widget.shop.example.com/w1 created\n',
    );
    await ok('create -f -', widget('w2', { replicas: 1, color: 'blue' }));
    assert.match(await ok('get wd'), /^NAME +REPLICAS +READY +AGE\nw1 +3 +\d+s\nw2 +1 +\d+s\n$/);
    assert.match(await ok('get wd -o wide'), /COLOR/);
    assert.match(await ok('get wd w1 -o yaml'), /\nspec:\n {2}color: red\n {2}replicas: 3\n/);
    assert.equal(JSON.parse(await ok('get wd -o json')).items.length, 2);
    assert.equal(await ok('get widgets -o name'), 'widget.shop.example.com/w1\nwidget.shop.example.com/w2\n');
    assert.equal(await ok('get wd w2 -o jsonpath={.spec.color}'), 'blue');
    assert.match(await ok('get wd -o custom-columns=N:.metadata.name,C:.spec.color'), /^N +C\nw1 +red\nw2 +blue\n$/);
    assert.equal(await ok('get wd -l tier=gold -o name'), 'widget.shop.example.com/w1\n');
    assert.equal(await ok('get wd -l tier!=gold -o name'), 'widget.shop.example.com/w2\n');
    assert.equal(await ok('get wd --field-selector spec.color=blue -o name'), 'widget.shop.example.com/w2\n');
    assert.match(await refused('get wd --field-selector spec.none=x'), /field label not supported: spec\.none/);
    assert.match(await ok('get wd --sort-by=.spec.replicas'), /w2[\s\S]*w1/);
    assert.equal((await ok('get wd --chunk-size=1 -o name')).split('\n').length, 3);
    assert.match(await ok('get wd -A'), /^NAMESPACE +NAME/);
    assert.match(await ok('get wd --show-labels'), /tier=gold/);
    assert.match(await ok('describe wd w1'), /Replicas: +3/);
    assert.match(
      await refused('get wd none'),
      /Error from server \(NotFound\): widgets\.shop\.example\.com "none" not found/,
    );
  });

  test('create: what is invalid, and what is there', async () => {
    assert.match(await refused('create -f -', widget('w1', {})), /AlreadyExists/);
    const stderr = await refused('create --validate=false -f -', widget('bad', { replicas: -1 }));
    assert.match(
      stderr,
      /spec\.replicas: Invalid value: -1: spec\.replicas in body should be greater than or equal to 0/,
    );
  });

  test('label, annotate, patch, replace', async () => {
    await ok('label wd w1 a=b');
    await ok('annotate wd w1 note=x');
    await ok(`patch wd w1 --type merge -p ${JSON.stringify({ spec: { color: 'green' } })}`);
    await ok(`patch wd w1 --type json -p ${JSON.stringify([{ op: 'replace', path: '/spec/replicas', value: 7 }])}`);
    const object = JSON.parse(await ok('get wd w1 -o json'));
    assert.deepEqual(object.spec, { replicas: 7, color: 'green' });
    assert.equal(object.metadata.labels.a, 'b');
    assert.equal(object.metadata.annotations.note, 'x');
    const words = await refused(`patch wd w1 -p ${JSON.stringify({ spec: { color: 'x' } })}`);
    assert.match(
      words,
      /strategic-merge-patch\+json is not supported|accepted media types include: application\/json-patch\+json/,
    );
    object.spec.color = 'pink';
    assert.match(await ok('replace -f -', JSON.stringify(object)), /w1 replaced/);
    assert.match(await refused('replace -f -', JSON.stringify(object)), /Conflict[\s\S]*the object has been modified/);
  });

  test('apply on the client side, and its difference', async () => {
    const text = widget('applied', { replicas: 1 });
    assert.match(await ok('apply -f -', text), /created/);
    assert.match(await ok('apply -f -', text), /unchanged/);
    assert.match(await ok('apply -f -', widget('applied', { replicas: 2 })), /configured/);
    const { code, stdout } = await kubectl.run(['diff', '-f', '-'], widget('applied', { replicas: 5 }));
    assert.equal(code, 1, stdout);
    assert.match(stdout, /\+ {2}replicas: 5/);
    assert.match(
      await ok('apply --dry-run=server -f -', widget('applied', { replicas: 9 })),
      /configured \(server dry run\)/,
    );
    assert.equal(await ok('get wd applied -o jsonpath={.spec.replicas}'), '2');
  });

  test('scale, wait for a condition, delete and wait', async () => {
    assert.match(await ok('scale wd w1 --replicas=5'), /scaled/);
    assert.equal(await ok('get wd w1 -o jsonpath={.spec.replicas}'), '5');
    const waiting = ok('wait wd w2 --for=condition=Ready --timeout=20s');
    const status = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
    const headers = { 'content-type': 'application/merge-patch+json' };
    await facade.kube(`${widgets}/w2/status`, { method: 'PATCH', headers, body: status });
    assert.match(await waiting, /condition met/);
    assert.match(await ok('delete wd w2 --wait'), /deleted/);
  });

  test('watches as tables', async () => {
    const watch = kubectl.begin(['get', 'wd', '-w']);
    try {
      await until(() => watch.lines.some((line) => line.startsWith('w1')), { timeout: 20_000 });
      await ok('create -f -', widget('seen', { replicas: 4 }));
      await until(() => watch.lines.some((line) => /^seen +4/.test(line)), { timeout: 20_000 });
    } finally {
      await watch.end();
    }
  });

  test('delete by label, all, and what is held by a finalizer', async () => {
    for (const name of ['d1', 'd2']) await ok('create -f -', widget(name, {}, { set: 'd' }));
    assert.match(await ok('delete wd -l set=d'), /"d1" deleted[\s\S]*"d2" deleted/);
    const metadata = { name: 'held', finalizers: ['shop.example.com/keep'] };
    await facade.kube(gadgets, { body: { metadata, spec: {} } });
    const deleting = ok('delete gadget held --wait --timeout=30s');
    await until(async () => (await facade.kube(`${gadgets}/held`)).json.metadata.deletionTimestamp !== undefined);
    await ok(`patch gadget held --type merge -p ${JSON.stringify({ metadata: { finalizers: null } })}`);
    assert.match(await deleting, /deleted/);
    assert.match(await ok('delete wd --all'), /deleted/);
    assert.equal(await ok('get wd -o name'), '');
  });

  test('conditions by JSONPath', { skip: minor < 23 && 'this kubectl does not know them' }, async () => {
    await ok('create -f -', widget('path', { replicas: 2 }));
    assert.match(await ok('wait wd path --for=jsonpath={.spec.replicas}=2 --timeout=10s'), /condition met/);
  });
});

/** JSON in a command has no spaces. */
function argsOf(command: string): string[] {
  return command.split(' ');
}
