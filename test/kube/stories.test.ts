/** The controllers of the guide "Kubernetes clients", as they stand there: each labels cities, also after a restart of the service. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { City } from '../../examples/atlas/city.ts';
import type { Service } from '../../src/service.ts';
import { createService } from '../../src/service.ts';
import { until } from '../../src/testing/until.ts';
import { kindred } from '../cli/command.ts';
import { snippetsOf } from '../docs/snippets.ts';
import { python, withoutPython } from './python.ts';

const root = resolve(import.meta.dirname, '../..');
mkdirSync(join(root, 'build'), { recursive: true });
// Below the repository, so that the programs find the client.
const folder = mkdtempSync(join(root, 'build/stories-'));
after(() => rmSync(folder, { recursive: true }));
const snippets = snippetsOf(readFileSync(join(root, 'docs/guide/kubernetes.md'), 'utf8'));

const collection = '/apis/atlas.example.com/v1alpha1/cities';
const city = (name: string, population: number, geonameId: number) => ({
  metadata: { name },
  spec: { geonameId, name, country: 'FR', featureCode: 'PPL', population, location: { latitude: 1, longitude: 1 } },
});

async function story(name: string, start: (file: string, environment: NodeJS.ProcessEnv) => ChildProcess) {
  const snippet = snippets.find((one) => one.name === name);
  assert.ok(snippet, `the guide has no program ${name}`);
  const file = join(folder, name);
  writeFileSync(file, snippet.text);
  const database = `sqlite:${join(folder, `${name}.db`)}`;
  let service: Service;
  let url = '';
  const serve = async () => {
    const port = url === '' ? 0 : Number(new URL(url).port);
    service = await createService({ database, port, auth: false });
    service.schemeManager.register(City);
    ({ url } = await service.start());
  };
  const send = async (method: string, path: string, body?: object) => {
    const headers = { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' };
    const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    assert.ok(response.ok, await response.clone().text());
    return (await response.json()) as any;
  };
  const sizeOf = async (one: string) =>
    (await send('GET', `${collection}/${one}`)).metadata.labels?.['example.com/size'];
  const becomes = (one: string, size: string) => until(async () => (await sizeOf(one)) === size, { timeout: 20_000 });

  await serve();
  const config = join(folder, `${name}.kubeconfig`);
  assert.equal((await kindred(['kubeconfig', '--server', url, '-o', config])).code, 0);
  await send('POST', collection, city('before', 2_000_000, 1));
  const program = start(file, { ...process.env, KUBECONFIG: config });
  let told = '';
  for (const stream of [program.stdout!, program.stderr!]) stream.on('data', (chunk) => (told += chunk));
  const ended = new Promise((done) => program.once('close', done));
  try {
    await becomes('before', 'big');
    await send('POST', collection, city('later', 5, 2));
    await becomes('later', 'small');
    await send('PATCH', `${collection}/later`, { spec: { population: 3_000_000 } });
    await becomes('later', 'big');
    await service!.stop();
    await serve();
    await send('POST', collection, city('again', 7, 3));
    await becomes('again', 'small');
    const { items } = await send('GET', `${collection}?labelSelector=example.com/size=big`);
    assert.equal(items.length, 2);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${told}`, { cause: error });
  } finally {
    program.kill();
    await ended;
    await service!.stop();
  }
}

test('the controller in JavaScript', { timeout: 120_000 }, () =>
  story('sizes.mjs', (file, env) => spawn(process.execPath, [file], { env })),
);

test('the controller in Python', { skip: withoutPython, timeout: 120_000 }, () =>
  story('sizes.py', (file, env) => spawn(python!, [file], { env })),
);
