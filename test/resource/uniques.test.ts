/** Unique values through updates, on every kind of database. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Service } from 'kindred';
import { createService, defineModel, Type } from 'kindred';
import type { TestDatabase } from '../servers.ts';
import { databaseAdapters } from '../servers.ts';

const Account = defineModel({
  gvk: { group: 'uniques.example.com', version: 'v1', kind: 'Account', singular: 'account', plural: 'accounts' },
  spec: Type.Object({ mail: Type.String(), phone: Type.String(), aliases: Type.Optional(Type.Array(Type.String())) }),
  indexes: (index) => [
    index.single('spec.mail', String, (account) => account.spec.mail, { unique: true }),
    index.single('spec.phone', String, (account) => account.spec.phone, { unique: true }),
    index.multi('spec.aliases', String, (account) => account.spec.aliases, { unique: true }),
  ],
});

for (const adapter of databaseAdapters()) {
  describe(`unique values, on ${adapter.name}`, () => {
    let database: TestDatabase;
    let service: Service;
    before(async () => {
      database = await adapter.create();
      service = await createService({ database: database.url, port: 0, auth: false });
      service.schemeManager.register(Account);
    });
    after(async () => {
      await service.stop();
      await database.drop();
    });

    const create = (name: string, mail: string, phone: string, aliases?: string[]) =>
      service.client.create(Account, { metadata: { name }, spec: { mail, phone, ...(aliases && { aliases }) } });
    const taken = (index: string) => ({ code: 'UniqueViolation', index });

    for (const [changed, other] of [
      ['mail', 'phone'],
      ['phone', 'mail'],
    ] as const) {
      it(`queries: an update of ${changed} alone frees its old value, takes the new one and keeps ${other}`, async () => {
        const of = (member: string, value: string) => ({
          mail: `${changed}-m`,
          phone: `${changed}-p`,
          [member]: value,
        });
        const free = (i: number) => ({ mail: `${changed}-free-${i}`, phone: `${changed}-free-${i}` });
        const first = of('x', 'x');
        await create(`${changed}-1`, first.mail, first.phone);
        await service.client.patch(Account, `${changed}-1`, { spec: { [changed]: `${changed}-new` } });
        const make = (name: string, spec: { mail: string; phone: string }) =>
          service.client.create(Account, { metadata: { name: `${changed}-${name}` }, spec });
        await assert.rejects(make('2', { ...free(2), [changed]: `${changed}-new` }), taken(`spec.${changed}`));
        await assert.rejects(make('3', { ...free(3), [other]: first[other] }), taken(`spec.${other}`));
        await make('4', { ...free(4), [changed]: first[changed] });
      });
    }

    it('queries: a list that changes keeps what stays, frees what goes and takes what comes', async () => {
      await create('list-1', 'list-1', 'list-1', ['a', 'b', 'c']);
      await service.client.patch(Account, 'list-1', { spec: { aliases: ['c', 'd', 'b'] } });
      for (const alias of ['b', 'c', 'd']) {
        await assert.rejects(create('list-2', 'list-2', 'list-2', [alias]), taken('spec.aliases'), alias);
      }
      await create('list-3', 'list-3', 'list-3', ['a']);
      await service.client.delete(Account, 'list-1');
      await create('list-4', 'list-1', 'list-1', ['b', 'c', 'd']);
    });
  });
}
