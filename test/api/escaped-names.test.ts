/** Member names that are written with escapes, which `JSON.parse` of V8 can take for others (src/runtime/read-json.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '../../src/client/client.ts';
import { defineModel } from '../../src/model/define.ts';
import { Api } from './harness.ts';

const Doc = defineModel({
  gvk: { group: '', version: 'v1', kind: 'Doc', singular: 'doc', plural: 'docs' },
  spec: { type: 'object', additionalProperties: { type: 'integer' } },
});

const docs = '/api/v1/docs';

/** A name that V8 knows from the object before, and one that begins like it as it is written, `"\n"` like `"\`. */
const pairs = [
  ['\\', '\n'],
  ['\\', '"'],
  ['\\n', '\na'],
  ['a\\', 'a"'],
  ['é\\"', 'é"b'],
] as const;

test('objects: member names with escapes stay what they are, on every way in and out', async () => {
  const api = new Api();
  await api.start((service) => service.schemeManager.register(Doc));
  try {
    const client = createClient({ url: api.url });
    const written = new Map<string, string>();
    for (const [i, names] of pairs.entries()) {
      for (const [k, last] of names.entries()) {
        const name = `d-${i}-${k}`;
        // The name before it is in no other object: what follows it in the first is expected in the second.
        const spec = { [`before ${i}`]: 0, [last]: 1 };
        await api.send({ path: docs, body: { metadata: { name }, spec } });
        assert.equal(JSON.stringify((await client.get(Doc, name)).spec), JSON.stringify(spec));
        await api.send({
          method: 'PATCH',
          path: `${docs}/${name}`,
          headers: { 'content-type': 'application/merge-patch+json' },
          body: { spec: { more: 2 } },
        });
        written.set(name, JSON.stringify({ ...spec, more: 2 }));
        assert.equal(JSON.stringify((await client.get(Doc, name)).spec), written.get(name));
      }
    }
    for await (const { metadata, spec } of client.listAll(Doc)) {
      assert.equal(JSON.stringify(spec), written.get(metadata.name!));
      written.delete(metadata.name!);
    }
    assert.equal(written.size, 0);
  } finally {
    await api.stop();
  }
});
