/** Pages of lists are kept while their model is unchanged (`src/http/api/page-cache.ts`): nobody notices, and nobody sees more. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ModelResource } from '../../src/resource/resource.ts';
import type { Answer, Send } from './live.ts';
import { expect, live } from './live.ts';
import { Book, books } from './models.ts';

const core = '/api/v1alpha1';
const spec = { title: 'x' };
const newest = (answer: Answer): number => Number(answer.headers.get('kindred-revision'));
const namesOf = (answer: Answer): string[] => answer.body.items.map((one: any) => one.metadata.name);

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
