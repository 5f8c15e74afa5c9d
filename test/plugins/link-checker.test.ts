/** The example plugin `link-checker`, against a web server of this test. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Harness } from 'kindred/testing';
import { FakeClock } from 'kindred/testing';
import { finalizer } from '../../examples/link-checker/controller.ts';
import { Link } from '../../examples/link-checker/link.ts';
import { linkChecker } from '../../examples/link-checker/plugin.ts';
import { isPublicAddress } from '../../examples/link-checker/request.ts';
import { cleanUp, folderOf, harnessOf, pluginOf } from './kit.ts';

describe('link-checker', () => {
  let server: Server;
  let base: string;
  let broken = false;
  const requests: string[] = [];
  let most = 0;
  let open = 0;

  before(async () => {
    server = createServer((request, response) => {
      const path = request.url!;
      requests.push(path);
      open += 1;
      most = Math.max(most, open);
      response.on('close', () => {
        open -= 1;
      });
      if (path.startsWith('/slow')) return;
      if (path === '/moved') response.writeHead(302, { location: '/page' }).end();
      else if (path === '/loop') response.writeHead(302, { location: '/loop' }).end();
      else response.writeHead(path === '/absent' || broken ? 404 : 200).end('page');
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    base = `http://localhost:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  afterEach(async () => {
    await cleanUp();
    requests.length = 0;
    broken = false;
    most = 0;
  });

  async function make(config: object = {}): Promise<{ harness: Harness; clock: FakeClock }> {
    const clock = new FakeClock();
    const harness = await harnessOf({
      clock,
      pluginConfig: { 'link-checker': { allowPrivateAddresses: true, ...config } },
      plugins: [{ name: 'link-checker', plugin: linkChecker(() => clock.now()) }],
    });
    return { harness, clock };
  }

  const add = (harness: Harness, name: string, url: string, interval = 60) =>
    harness.client.create(Link, { metadata: { name }, spec: { url, interval } });
  const conditionOf = (harness: Harness, name: string) =>
    harness.until(async () => (await harness.client.get(Link, name)).status?.conditions[0], {
      what: `${name} was checked`,
    });

  it('says which links work, with the time of the next check', async () => {
    const { harness, clock } = await make();
    for (const path of ['page', 'absent', 'moved', 'loop']) await add(harness, path, `${base}/${path}`);
    const found = [];
    for (const path of ['page', 'absent', 'moved', 'loop']) {
      const { status, reason } = await conditionOf(harness, path);
      found.push([path, status, reason]);
    }
    assert.deepEqual(found, [
      ['page', 'True', 'Answered'],
      ['absent', 'False', 'ErrorStatus'],
      ['moved', 'True', 'Answered'],
      ['loop', 'False', 'Failed'],
    ]);
    const { status } = await harness.client.get(Link, 'page');
    assert.equal(status!.lastCheck, new Date(clock.now()).toISOString());
    assert.equal(status!.nextCheck, new Date(clock.now() + 60_000).toISOString());
    const list = await harness.fetch(
      '/apis/links.example.com/v1alpha1/links?fieldSelector=status.reachable=false&sort=metadata.name,asc',
    );
    const { items } = (await list.json()) as { items: Link[] };
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ['absent', 'loop'],
    );
  });

  it('checks again when it is time, and at once when the URL changes', async () => {
    const { harness, clock } = await make();
    await add(harness, 'page', `${base}/page`);
    const first = await conditionOf(harness, 'page');
    await clock.advance(59_000);
    assert.equal(requests.length, 1);
    broken = true;
    await clock.advance(1_000);
    const second = await harness.until(async () => {
      const [condition] = (await harness.client.get(Link, 'page')).status!.conditions;
      return condition!.status === 'False' && condition;
    });
    assert.notEqual((second as typeof first).lastTransitionTime, first.lastTransitionTime);
    broken = false;
    await harness.client.patch(Link, 'page', { spec: { url: `${base}/other` } });
    await harness.until(async () => (await harness.client.get(Link, 'page')).status!.url === `${base}/other`);
    assert.deepEqual(requests, ['/page', '/page', '/other']);
  });

  it('removes the history of a link before the link is gone', async () => {
    const history = folderOf({});
    const { harness } = await make({ history });
    await add(harness, 'page', `${base}/page`);
    await conditionOf(harness, 'page');
    const file = join(history, 'page.ndjson');
    assert.equal(JSON.parse(readFileSync(file, 'utf8')).reason, 'Answered');
    assert.deepEqual((await harness.client.get(Link, 'page')).metadata.finalizers, [finalizer]);
    await harness.client.delete(Link, 'page');
    await harness.until(async () => (await harness.client.fetch(Link, 'page')) === undefined);
    assert.equal(existsSync(file), false);
    // The name is free: a new link begins anew.
    await add(harness, 'page', `${base}/page`);
    await conditionOf(harness, 'page');
  });

  it('keeps to its concurrency', async () => {
    const { harness } = await make({ concurrency: 3, timeout: 300 });
    for (let i = 0; i < 9; i += 1) await add(harness, `slow-${i}`, `${base}/slow/${i}`);
    for (let i = 0; i < 9; i += 1) assert.equal((await conditionOf(harness, `slow-${i}`)).reason, 'TimedOut');
    assert.equal(most, 3);
  });

  it('requests no private address unless its configuration allows it, by number, by name or by redirect', async () => {
    const { harness } = await make({ allowPrivateAddresses: false });
    await add(harness, 'by-name', `${base}/page`);
    await add(harness, 'by-number', base.replace('localhost', '127.0.0.1'));
    await add(harness, 'by-other-number', 'http://2130706433/');
    await add(harness, 'mapped', 'http://[::ffff:127.0.0.1]/');
    for (const name of ['by-name', 'by-number', 'by-other-number', 'mapped']) {
      assert.equal((await conditionOf(harness, name)).reason, 'Refused', name);
    }
    assert.deepEqual(requests, []);
  });

  it('knows public addresses from others', () => {
    for (const address of ['1.1.1.1', '93.184.215.14', '2606:4700::1111'])
      assert.equal(isPublicAddress(address), true, address);
    for (const address of [
      '10.1.2.3',
      '127.0.0.1',
      '169.254.169.254',
      '172.31.0.1',
      '192.168.0.1',
      '0.0.0.0',
      '100.64.0.1',
      '224.0.0.1',
      '::1',
      '::',
      'fe80::1',
      'fd00::1',
      '::ffff:10.0.0.1',
      '64:ff9b::a00:1',
      '2002:a00:1::',
      'localhost',
    ]) {
      assert.equal(isPublicAddress(address), false, address);
    }
  });

  it('starts as it stands in its folder', async () => {
    const harness = await harnessOf({ plugins: [resolve(import.meta.dirname, '../../examples/link-checker')] });
    assert.deepEqual((await pluginOf(harness, 'link-checker')).status, { state: 'STARTED' });
  });
});
