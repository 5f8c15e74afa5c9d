import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { AbstractExtension, defineModel, GVK, ListOptions, PageRequest, Queries, Schema, Type } from 'kindred';
import type { KindredClient, WatchEvent } from 'kindred/client';
import { createClient, KindredError, retryOnConflict } from 'kindred/client';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';
import { City } from '../../examples/atlas/city.ts';
import { Country } from '../../examples/atlas/country.ts';
import { cities, countries } from '../../examples/atlas/data.ts';

class NoteSpec {
  @Schema({ type: 'string', requiredMode: 'REQUIRED' })
  text!: string;
}

@GVK({ group: 'notes.example.com', version: 'v1', kind: 'Note', singular: 'note', plural: 'notes' })
class Note extends AbstractExtension {
  @Schema({ type: () => NoteSpec })
  spec!: NoteSpec;
}

const Plain = defineModel({
  gvk: { group: 'notes.example.com', version: 'v1', kind: 'Plain', singular: 'plain', plural: 'plains' },
  spec: Type.Object({ text: Type.String() }),
  status: Type.Object({ seen: Type.Optional(Type.Integer()), by: Type.Optional(Type.String()) }),
});

const notes = {
  name: 'notes',
  plugin: {
    start: ({ schemeManager }: { schemeManager: { register(type: unknown): void } }) => {
      schemeManager.register(Note);
      schemeManager.register(Plain);
    },
  },
};

let harness: Harness;
let client: KindredClient;

before(async () => {
  const { definePlugin } = await import('kindred');
  harness = await startHarness({
    persistent: true,
    plugins: [
      join(import.meta.dirname, '../../examples/atlas'),
      { name: notes.name, plugin: definePlugin(notes.plugin as never) },
    ],
  });
  client = createClient({ url: harness.url });
  for await (const result of client.import(Country, countries())) assert.ok(result.ok);
  for await (const result of client.import(City, cities(['MC', 'AD']))) assert.ok(result.ok);
});
after(() => harness.stop());

async function code(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof KindredError) return `${error.status} ${error.code}`;
    throw error;
  }
  return 'no error';
}

test('api-description: the client reads over HTTP what the client inside the service reads', async () => {
  const inside = harness.client;
  const options = ListOptions.builder()
    .labelSelector('atlas.example.com/region=Europe')
    .andQuery(Queries.between('spec.area', 1, 1000))
    .build();
  const page = PageRequest.of(2, 5, ['spec.area,desc']);
  assert.deepEqual(await client.get(Country, 'mc'), await inside.get(Country, 'mc'));
  assert.equal(await client.fetch(Country, 'atlantis'), undefined);
  const { revision, ...listed } = await client.list(Country, options, page);
  const { revision: later, ...expected } = await inside.list(Country, options, page);
  assert.deepEqual(listed, expected);
  assert.ok(Number(revision) <= Number(later), `${revision}, ${later}`);
  assert.deepEqual(
    await client.listNames(Country, options, ['spec.area']),
    await inside.listNames(Country, options, ['spec.area']),
  );
  assert.equal(await client.count(Country, options), await inside.count(Country, options));
  assert.deepEqual(
    await Array.fromAsync(client.listAll(Country, options)),
    await Array.fromAsync(inside.listAll(Country, options)),
  );
});

test('api-description: client.for(model) takes typed filters, sort keys and pages', async () => {
  const page = await client.for(City).list({
    fields: { 'spec.country': ['AD', 'MC'], 'spec.population': { '>=': 10_000, '<': 20_000 } },
    labels: { 'atlas.example.com/region': 'Europe' },
    sort: ['spec.population,desc'],
    size: 3,
  });
  assert.deepEqual(
    [page.total, page.size, page.items.map(({ spec }) => spec.population)],
    [4, 3, [16_012, 15_853, 12_167]],
  );
  assert.equal(
    await client.for(City).count({ where: Queries.notEqual('spec.country', 'MC') }),
    await client.count(City, ListOptions.parse({ fieldSelector: 'spec.country=AD' })),
  );
});

test('api-description: writes of the client, with the errors of the reference and their members', async () => {
  const plains = client.for(Plain);
  const created = await plains.create({ metadata: { name: 'one' }, spec: { text: 'a' } });
  assert.equal(created.metadata.version, 0);
  assert.equal(await code(plains.create({ metadata: { name: 'one' }, spec: { text: 'a' } })), '409 AlreadyExists');
  const updated = await plains.update({ ...created, spec: { text: 'b' } });
  assert.deepEqual([updated.metadata.version, updated.spec.text], [1, 'b']);
  await assert.rejects(plains.update(created), { code: 'VersionConflict', status: 409, currentVersion: 1 });
  await assert.rejects(
    plains.create({ metadata: { name: 'Two' }, spec: { text: 3 as unknown as string } }),
    (error: KindredError) => {
      assert.deepEqual(
        error.errors?.map(({ pointer, keyword }) => [pointer, keyword]),
        [
          ['/metadata/name', 'pattern'],
          ['/spec/text', 'type'],
        ],
      );
      return true;
    },
  );
  assert.equal((await plains.patch('one', { spec: { text: 'c' } })).spec.text, 'c');
  assert.equal((await plains.patch('one', [{ op: 'replace', path: '/spec/text', value: 'd' }])).spec.text, 'd');
  await assert.rejects(plains.delete('one', { version: 1 }), { code: 'VersionConflict', currentVersion: 3 });
  assert.ok((await plains.delete('one', { version: 3 })).metadata.deletionTimestamp);
  assert.equal(await code(plains.get('one')), '404 NotFound');
  assert.equal(await code(plains.delete('one')), '404 NotFound');
});

test('apply sets the fields of one manager, tells who owns others, and tries without storing', async () => {
  const plains = client.for(Plain);
  const metadata = { name: 'applied' };
  const one = { fieldManager: 'one' };
  const tried = await plains.apply({ metadata, spec: { text: 'a' } }, { ...one, dryRun: true });
  assert.deepEqual([tried.spec.text, await plains.fetch('applied')], ['a', undefined]);
  const made = await plains.apply({ metadata, spec: { text: 'a' } }, one);
  assert.deepEqual(
    (made.metadata as { managedFields?: { manager: string }[] }).managedFields?.map(({ manager }) => manager),
    ['one'],
  );
  const other = { metadata, spec: { text: 'b' } };
  await assert.rejects(client.apply(Plain, other, { fieldManager: 'two' }), (error: KindredError) => {
    assert.equal(error.code, 'FieldConflict');
    assert.deepEqual(
      error.conflicts?.map(({ manager, field }) => [manager, field]),
      [['one', '.spec.text']],
    );
    return true;
  });
  assert.equal((await client.apply(Plain, other, { fieldManager: 'two', force: true })).spec.text, 'b');
});

test('api-description: updateStatus replaces the status alone, with and without the sub-resource', async () => {
  const country = await client.get(Country, 'mc');
  const changed = { ...country, spec: { ...country.spec, area: 1 }, status: { cities: 6, population: 7 } };
  const stored = await client.updateStatus(Country, changed);
  assert.deepEqual([stored.status, stored.spec], [{ cities: 6, population: 7 }, country.spec]);

  const plain = await client.create(Plain, { metadata: { name: 'status' }, spec: { text: 'a' } });
  const first = await client.updateStatus(Plain, { ...plain, spec: { text: 'b' }, status: { seen: 1, by: 'x' } });
  assert.deepEqual([first.status, first.spec], [{ seen: 1, by: 'x' }, { text: 'a' }]);
  await assert.rejects(client.updateStatus(Plain, { ...plain, status: { seen: 2 } }), {
    code: 'VersionConflict',
    currentVersion: 1,
  });
  const second = await client.updateStatus(Plain, { ...first, status: { seen: 2 } });
  assert.deepEqual(second.status, { seen: 2 });
  const third = await client.updateStatus(Plain, { ...second, status: undefined });
  assert.equal('status' in third, false);
});

test('api-description: a decorated class is a type for the client too', async () => {
  const note = await client.create(Note, { metadata: { generateName: 'note-' }, spec: { text: 'hello' } });
  assert.equal((await client.for(Note).get(note.metadata.name)).spec.text, 'hello');
  await assert.rejects(async () => client.get(class Nothing {} as never, 'x'), { code: 'InvalidModel' });
});

test('api-description: retryOnConflict reads, changes and writes again until nobody was quicker', async () => {
  await client.create(Plain, { metadata: { name: 'counter' }, spec: { text: '0' } });
  await Promise.all(
    Array.from({ length: 8 }, () =>
      retryOnConflict(
        async () => {
          const plain = await client.get(Plain, 'counter');
          await client.update(Plain, { ...plain, spec: { text: String(Number(plain.spec.text) + 1) } });
        },
        { attempts: 50, delay: 1 },
      ),
    ),
  );
  assert.equal((await client.get(Plain, 'counter')).spec.text, '8');
  let attempts = 0;
  const always = () => {
    attempts++;
    return client.update(Plain, { metadata: { name: 'counter', version: 77 }, spec: { text: '' } } as never);
  };
  assert.equal(await code(retryOnConflict(always, { attempts: 3, delay: 1 })), '409 VersionConflict');
  assert.equal(attempts, 3);
  const other = () => client.get(Plain, 'nobody');
  assert.equal(await code(retryOnConflict(other)), '404 NotFound');
});

test('api: bulk import answers for each object in order, refused ones among them', async () => {
  const good = (name: string) => ({ metadata: { name }, spec: { text: name } });
  const objects = [
    good('b1'),
    { ...good('b2'), spec: { text: 2 } },
    good('b1'),
    JSON.stringify(good('b3')),
    '{"metadata":',
    good('b4'),
  ];
  const results = await Array.fromAsync(client.import(Plain, objects, { batch: 4, concurrency: 2 }));
  assert.deepEqual(
    results.map((result) => [result.index, result.ok ? result.name : result.error.code]),
    [
      [0, 'b1'],
      [1, 'Invalid'],
      [2, 'AlreadyExists'],
      [3, 'b3'],
      [4, 'BadRequest'],
      [5, 'b4'],
    ],
  );
  assert.equal(await client.count(Plain, ListOptions.parse({ fieldSelector: 'name^=b' })), 3);
});

test('api-description: request reaches the routes that plugins write themselves', async () => {
  const found = await client.request<{ total: number }>('GET', '/apis/api.atlas.example.com/v1alpha1/cities/-/search', {
    query: { keyword: 'mon', size: '1', fieldSelector: ['spec.country=MC'] },
  });
  assert.equal(found.total, 3);
  assert.equal(await code(client.request('GET', '/apis/nothing.example.com')), '404 NotFound');
});

test('watch: a watch of the client lists first, sees every change, and goes on across a restart of the service', async () => {
  // A restart takes another free port: this address always leads to the service.
  const followed: typeof fetch = (input, init) => fetch(String(input).replace('http://service', harness.url), init);
  const seen: string[] = [];
  const controller = new AbortController();
  const watching = (async () => {
    const events: AsyncIterable<WatchEvent<{ metadata: { name: string; version?: number } }>> = createClient({
      url: 'http://service',
      fetch: followed,
    })
      .for(Plain)
      .watch({
        sendInitial: true,
        select: { fields: { name: { '^=': 'w' } } },
        minDelay: 10,
        signal: controller.signal,
      });
    for await (const event of events) {
      if (event.type === 'BOOKMARK' && !event.initial) continue;
      seen.push(
        event.type === 'BOOKMARK'
          ? 'BOOKMARK'
          : `${event.type} ${event.object.metadata.name} ${event.object.metadata.version}`,
      );
    }
  })();
  await harness.until(() => seen.includes('BOOKMARK'));
  await harness.client.create(Plain, { metadata: { name: 'w1' }, spec: { text: 'a' } });
  await harness.until(() => seen.includes('ADDED w1 0'));
  await harness.restart();
  await harness.client.patch(Plain, 'w1', { spec: { text: 'b' } });
  await harness.client.delete(Plain, 'w1');
  await harness.until(() => seen.includes('DELETED w1 2'));
  controller.abort();
  await watching;
  assert.deepEqual(seen, ['BOOKMARK', 'ADDED w1 0', 'MODIFIED w1 1', 'DELETED w1 2']);
});
