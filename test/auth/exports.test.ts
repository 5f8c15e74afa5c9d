/** An export asks again for each of its portions whether its caller may still have them (docs/reference/permissions.md). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ModelResource } from '../../src/resource/resource.ts';
import type { Send } from './live.ts';
import { bindingOf, expect, live } from './live.ts';
import { Book } from './models.ts';

const books = '/apis/library.example/v1alpha1/books';
const core = '/api/v1alpha1';

const changes: readonly { name: string; change: (admin: Send) => Promise<unknown>; isAllowed: boolean }[] = [
  {
    name: 'its binding is deleted',
    change: (admin) => expect(200, admin('DELETE', `${core}/rolebindings/ada`)),
    isAllowed: false,
  },
  {
    name: 'its user is disabled',
    change: (admin) =>
      expect(200, admin('PUT', `${core}/users/ada`, { metadata: { name: 'ada' }, spec: { disabled: true } })),
    isAllowed: false,
  },
  {
    name: 'its role is narrowed to one object',
    change: (admin) => expect(200, admin('PUT', `${core}/roles/reader`, role(['one']))),
    isAllowed: false,
  },
  {
    name: 'somebody else gets a right',
    change: (admin) => expect(201, admin('POST', `${core}/rolebindings`, bindingOf('reader', 'bob'))),
    isAllowed: true,
  },
];

function role(resourceNames?: readonly string[]): object {
  const rules = [{ apiGroups: ['library.example'], resources: ['books'], verbs: ['list'], resourceNames }];
  return { metadata: { name: 'reader' }, rules };
}

for (const { name, change, isAllowed } of changes) {
  test(`permissions: an export that has begun ${isAllowed ? 'goes on' : 'breaks off'} when ${name}`, async (t) => {
    const gate = Promise.withResolvers<void>();
    await using world = await live({}, (service) => service.schemeManager.register(Book));
    t.mock.method(ModelResource.prototype, 'export', async () => ({
      revision: 1,
      lines: (async function* () {
        yield [Buffer.from('"first"\n')];
        await gate.promise;
        yield [Buffer.from('"second"\n')];
      })(),
    }));
    await expect(201, world.admin('POST', `${core}/roles`, role()));
    const { token } = await world.person('ada', []);
    await expect(
      201,
      world.admin('POST', `${core}/rolebindings`, { ...bindingOf('reader', 'ada'), metadata: { name: 'ada' } }),
    );
    const headers = { authorization: `Bearer ${token}`, accept: 'application/x-ndjson' };
    const response = await fetch(world.url + books, { headers });
    assert.equal(response.status, 200);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    assert.equal((await reader.read()).value, '"first"\n');
    await change(world.admin);
    gate.resolve();
    if (!isAllowed) await assert.rejects(reader.read(), /terminated/);
    else assert.equal((await reader.read()).value, '"second"\n');
  });
}
