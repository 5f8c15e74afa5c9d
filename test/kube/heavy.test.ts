import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertTurns, LoopGuard } from '../api/loop-guard.ts';
import { Facade, gadgets } from './harness.ts';

const facade = new Facade();
const guard = new LoopGuard();
before(() => facade.start());
after(() => facade.stop());

const put = (name: string, spec: object) => facade.kube(gadgets, { body: { metadata: { name }, spec } });

/** The answer of the heaviest requests, each of which may not hold the event loop. */
async function measured(what: string, send: () => Promise<{ status: number }>, status: number): Promise<void> {
  const longest = async (): Promise<number> => {
    guard.take();
    assert.equal((await send()).status, status);
    return guard.take();
  };
  await send();
  await assertTurns(what, await longest(), longest);
}

test('no request to the façade holds the event loop', { timeout: 200_000 }, async () => {
  const names = Array.from({ length: 2_000 }, (_, i) => `h${String(i).padStart(5, '0')}`);
  for (let at = 0; at < names.length; at += 100) {
    await Promise.all(names.slice(at, at + 100).map((name) => put(name, { note: 'n'.repeat(2_000) })));
  }
  const first = (await facade.kube(`${gadgets}?limit=1`)).json.metadata.continue;
  const merge = { 'content-type': 'application/merge-patch+json' };
  for (let at = 0; at < names.length; at += 100) {
    const some = names.slice(at, at + 100);
    await Promise.all(
      some.map((name) =>
        facade.kube(`${gadgets}/${name}`, { method: 'PATCH', headers: merge, body: { spec: { size: 1 } } }),
      ),
    );
  }
  const raw = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${facade.url}/kube${path}`, { headers });
    for await (const _chunk of response.body!);
    return { status: response.status };
  };
  await measured('a large list', () => raw(gadgets), 200);
  const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  await measured('a large table', () => raw(`${gadgets}?includeObject=Object`, table), 200);
  await measured('a list of before', () => raw(`${gadgets}?fieldSelector=spec.size!=1&continue=${first}`), 200);
  const many = Array.from({ length: 9_000 }, (_, i) => `"k${i}":${i}`).join(',');
  const duplicates = `{"metadata":{"name":"x","name":"y"},"spec":{"size":1,"color":"A"},"extra":{${many}}}`;
  await measured('many unknown fields', () => facade.kube(`${gadgets}?dryRun=All`, { body: duplicates }), 422);
  const yaml = '- [{a: [{}, {}]}]\n'.repeat(850);
  const headers = { 'content-type': 'application/yaml' };
  await measured('YAML', () => facade.kube(gadgets, { headers, body: yaml }), 400);
});
