/** Pages of lists are kept while no change concerns them (`src/http/api/page-cache.ts`): nobody notices, and nobody sees more. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ModelResource } from '../../src/resource/resource.ts';
import { Random } from '../query/random.ts';
import type { Answer, Send } from './live.ts';
import { expect, live } from './live.ts';
import { Book, books } from './models.ts';

/** An item of a list. */
interface Shown {
  readonly metadata: { readonly name: string; readonly labels?: { readonly env?: string } };
  readonly spec: { readonly title: string };
}

const core = '/api/v1alpha1';
const spec = { title: 'x' };
const newest = (answer: Answer): number => Number(answer.headers.get('kindred-revision'));
const namesOf = (answer: Answer): string[] => answer.body.items.map(({ metadata }: Shown) => metadata.name);

test('lists: a page that is asked for again and again is put together once for each change, and always the newest', async (t) => {
  await using world = await live({}, (service) => service.schemeManager.register(Book));
  const list = t.mock.method(ModelResource.prototype, 'list');
  const path = `${books}?sort=metadata.name`;
  const ask = async (names: readonly string[]): Promise<Answer> => {
    const first = await expect(200, world.admin('GET', path));
    assert.deepEqual(namesOf(first), names);
    for (let i = 0; i < 5; i++) {
      const again = await expect(200, world.admin('GET', path));
      assert.equal(again.text, first.text);
      assert.equal(newest(again), newest(first));
    }
    return first;
  };
  await ask([]);
  const made = await expect(201, world.admin('POST', books, { metadata: { name: 'b' }, spec }));
  await ask(['b']);
  await expect(201, world.admin('POST', books, { metadata: { name: 'a' }, spec }));
  const before = list.mock.callCount();
  const two = await ask(['a', 'b']);
  assert.equal(list.mock.callCount() - before, 2);
  await expect(200, world.admin('PUT', `${books}/b`, { metadata: { name: 'b', labels: { new: 'yes' } }, spec }));
  const changed = await ask(['a', 'b']);
  assert.notEqual(changed.text, two.text);
  await expect(200, world.admin('DELETE', `${books}/a`));
  const last = await ask(['b']);
  // Of another model: the page is the same, its revision the newest.
  await expect(201, world.admin('POST', `${core}/users`, { metadata: { name: 'ada' } }));
  const later = await expect(200, world.admin('GET', path));
  assert.equal(later.text, last.text);
  assert(newest(later) > newest(last) && newest(last) > newest(made));
});

test('lists: a page stays while no change is of an object that its selectors choose', async (t) => {
  await using world = await live({}, (service) => service.schemeManager.register(Book));
  const list = t.mock.method(ModelResource.prototype, 'list');
  const path = `${books}?labelSelector=env%3Dprod&fieldSelector=spec.title%3Dx&sort=metadata.name`;
  const put = (name: string, title: string, env: string) =>
    expect(200, world.admin('PUT', `${books}/${name}`, { metadata: { name, labels: { env } }, spec: { title } }));
  for (const name of ['a', 'b', 'c'])
    await expect(201, world.admin('POST', books, { metadata: { name, labels: { env: name } }, spec }));
  const ask = async (names: readonly string[], isKept: boolean): Promise<void> => {
    const before = list.mock.callCount();
    const answer = await expect(200, world.admin('GET', path));
    assert.deepEqual(namesOf(answer), names);
    assert.equal(newest(answer), Number((await world.admin('GET', `${books}/a`)).headers.get('kindred-revision')));
    assert.equal(list.mock.callCount() === before, isKept);
    for (let i = 0; i < 2; i++) assert.equal((await world.admin('GET', path)).text, answer.text);
  };
  await ask([], false);
  await put('b', 'y', 'prod');
  await put('c', 'x', 'test');
  await ask([], true);
  await put('a', 'x', 'prod');
  await ask(['a'], false);
  await put('b', 'y', 'test');
  await expect(200, world.admin('DELETE', `${books}/c`));
  await ask(['a'], true);
  await put('a', 'x', 'test');
  await ask([], false);
  for (let i = 0; i < 60; i++) await put('b', `y ${i}`, 'prod');
  for (let i = 0; i < 10; i++) await expect(201, world.admin('POST', `${core}/users`, { metadata: { name: `u${i}` } }));
  await ask([], true);
  for (let i = 0; i < 70; i++) await put('b', `y ${i}`, 'prod');
  await ask([], false);
  await put('b', 'x', 'prod');
  await ask(['b'], false);
  await expect(200, world.admin('DELETE', `${books}/b`));
  await ask([], false);
});

test('lists: kept pages are what a list would show, whatever changes', async (t) => {
  await using world = await live({}, (service) => service.schemeManager.register(Book));
  const list = t.mock.method(ModelResource.prototype, 'list');
  const random = new Random(1);
  const envs = ['prod', 'test', undefined] as const;
  const all = new Map<string, { readonly env: string | undefined; readonly title: string }>();
  let lists = 0;
  for (let i = 0; i < 3_000; i++) {
    if (random.chance(0.1)) {
      const name = `book-${random.below(30)}`;
      const [env, title] = [random.pick(envs), `title ${random.below(2)}`];
      const sent = { metadata: { name, ...(env && { labels: { env } }) }, spec: { title } };
      if (!all.has(name)) await expect(201, world.admin('POST', books, sent));
      else if (random.chance(0.3)) {
        await expect(200, world.admin('DELETE', `${books}/${name}`));
        all.delete(name);
        continue;
      } else await expect(200, world.admin('PUT', `${books}/${name}`, sent));
      all.set(name, { env, title });
      continue;
    }
    const env = random.pick(envs);
    const title = `title ${random.below(2)}`;
    const page = 1 + random.below(2);
    const label = env === undefined ? '!env' : `env%3D${env}`;
    const path = `${books}?fieldSelector=spec.title%3D${encodeURIComponent(title)}&labelSelector=${label}`;
    const { body } = await expect(200, world.admin('GET', `${path}&sort=metadata.name&page=${page}&size=3`));
    lists++;
    const found = [...all].filter(([, one]) => one.env === env && one.title === title).map(([name]) => name);
    assert.equal(body.total, found.length);
    assert.deepEqual(
      body.items.map(({ metadata, spec }: Shown) => [metadata.name, metadata.labels?.env, spec.title]),
      found
        .toSorted()
        .slice(3 * page - 3, 3 * page)
        .map((name) => [name, env, title]),
    );
  }
  const kept = lists - list.mock.callCount();
  assert.ok(kept > lists / 3, `${kept} of ${lists} lists were kept`);
});

test('permissions: who may list some objects only gets no page that was kept for others, nor the other way round', async () => {
  await using world = await live({}, (service) => service.schemeManager.register(Book));
  for (const name of ['one', 'two']) await expect(201, world.admin('POST', books, { metadata: { name }, spec }));
  const rules = [{ apiGroups: ['library.example'], resources: ['books'], verbs: ['list'], resourceNames: ['one'] }];
  await expect(201, world.admin('POST', `${core}/roles`, { metadata: { name: 'narrow' }, rules }));
  const { send } = await world.person('ada', ['narrow']);
  const nobody = await world.person('eve', []);
  const ask = async (by: Send): Promise<string[]> =>
    namesOf(await expect(200, by('GET', `${books}?sort=metadata.name`)));
  for (let i = 0; i < 4; i++) assert.deepEqual(await ask(world.admin), ['one', 'two']);
  for (let i = 0; i < 4; i++) assert.deepEqual(await ask(send), ['one']);
  for (let i = 0; i < 4; i++) assert.deepEqual(await ask(world.admin), ['one', 'two']);
  await expect(403, nobody.send('GET', `${books}?sort=metadata.name`));
});

test('permissions: a list that shows what nobody is to keep is put together each time', async (t) => {
  await using world = await live();
  const list = t.mock.method(ModelResource.prototype, 'list');
  for (let i = 0; i < 4; i++) await expect(200, world.admin('GET', `${core}/secrets`));
  assert.equal(list.mock.callCount(), 4);
});
