/** Errors that nobody catches, in a process of their own: the test runner listens for them too. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from 'kindred/testing';
import { fromSources } from '../sources.ts';
import type { PluginStatus } from './kit.ts';
import { cleanUp, folderOf } from './kit.ts';

describe('errors of plugins that nobody catches', () => {
  let service: ChildProcess;
  let url: string;
  let errors = '';

  before(async () => {
    const folder = folderOf({
      'package.json': { name: 'by-stack', version: '1.0.0', type: 'module', main: 'index.js' },
      'index.js': `import { definePlugin } from 'kindred';
process.stdin.once('data', () => { throw new Error('only the stack tells whose'); });
export default definePlugin({ start() {} });
`,
    });
    service = spawn(process.execPath, [...fromSources, join(import.meta.dirname, 'faults-service.ts'), folder], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    service.stderr!.on('data', (data) => {
      errors += data;
    });
    const [line] = (await Promise.race([once(service.stdout!, 'data'), once(service, 'exit')])) as [Buffer];
    url = String(line).trim();
    assert.match(url, /^http:/, errors);
  });

  after(() => {
    service.kill('SIGKILL');
    return cleanUp();
  });

  const plugins = '/apis/plugin.platform.run/v1alpha1/plugins';
  const statusOf = async (name: string) =>
    ((await (await fetch(`${url}${plugins}/${name}`)).json()) as { status: PluginStatus }).status;

  const cases = [
    { name: 'rejects', does: 'an unhandled rejection', reason: 'UnhandledRejection', message: /nobody waits for me/ },
    { name: 'throws', does: 'a throw in a timer', reason: 'UncaughtException', message: /out of the blue/ },
  ];
  for (const { name, does, reason, message } of cases) {
    it(`plugins: ${does} does not end the service and is named on the Plugin object`, async () => {
      const status = await until(async () => {
        const now = await statusOf(name);
        return now.reason === reason && now;
      });
      assert.equal((status as PluginStatus).state, 'STARTED');
      assert.match((status as PluginStatus).message!, message);
    });
  }

  it('plugins: a plugin that goes on after its stop writes nothing any more', async () => {
    await until(
      async () =>
        ((await (await fetch(`${url}/apis/hostile.example.com/v1/lates`)).json()) as { total: number }).total > 0,
    );
    await fetch(`${url}${plugins}/goes-on`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: '{"spec":{"enabled":false}}',
    });
    const status = await until(async () => {
      const now = await statusOf('goes-on');
      return now.state === 'STOPPED' && now.reason === 'UnhandledRejection' && now;
    });
    assert.match((status as PluginStatus).message!, /not registered|is stopped/);
  });

  it('plugins: an error outside every call into a plugin is attributed by its stack', async () => {
    service.stdin!.write('by-stack');
    const status = await until(async () => {
      const now = await statusOf('by-stack');
      return now.reason === 'UncaughtException' && now;
    });
    assert.match((status as PluginStatus).message!, /only the stack tells whose/);
  });

  it('an error of no plugin ends the process, as it does without plugins', async () => {
    const exit = once(service, 'exit');
    service.stdin!.write('of-none');
    const [code] = (await exit) as [number];
    assert.equal(code, 1);
    assert.match(errors, /of no plugin/);
  });
});
