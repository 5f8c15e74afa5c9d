import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { definePlugin } from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';
import { Book } from '../plugins/kit.ts';
import { kindred } from './command.ts';

let harness: Harness | undefined;
afterEach(() => harness?.stop());

for (const reservedDomain of ['platform.run', 'service.example.org']) {
  test(`command-line: plugin list, disable, enable and export know the service's own domain - ${reservedDomain}`, async () => {
    const plugin = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Book) });
    const started = await startHarness({ reservedDomain, plugins: [{ name: 'library', version: '1.0.0', plugin }] });
    harness = started;
    await started.client.create(Book, { metadata: { name: 'emma' }, spec: { title: 'Emma' } });
    const call = (...args: string[]) => kindred([...args, '--server', started.url]);
    const states = async () =>
      (
        JSON.parse((await call('plugin', 'list', '-o', 'json')).stdout) as { items: { status: { state: string } }[] }
      ).items.map(({ status }) => status.state);
    assert.deepEqual(await states(), ['STARTED']);

    const exported = (await call('export')).stdout.trim().split('\n');
    assert.deepEqual(
      exported.map((line) => (JSON.parse(line) as { kind: string }).kind),
      ['Book'],
    );

    assert.deepEqual(await call('plugin', 'disable', 'library'), { code: 0, stdout: 'library disabled\n', stderr: '' });
    await started.until(async () => (await states())[0] === 'STOPPED');
    assert.equal((await call('list', 'books')).code, 1);
    assert.deepEqual(await call('plugin', 'enable', 'library'), { code: 0, stdout: 'library enabled\n', stderr: '' });
    await started.until(async () => (await states())[0] === 'STARTED');
    assert.match((await call('list', 'books')).stdout, /emma/);
    const unknown = await call('plugin', 'disable', 'nobody');
    assert.deepEqual([unknown.code, unknown.stderr], [1, 'kindred: There is no Plugin "nobody"\n']);
  });
}
